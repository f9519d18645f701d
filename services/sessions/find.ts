import { realpath, stat } from "node:fs/promises";
import { basename, isAbsolute, join, sep } from "node:path";
import { isRollout, RolloutFiles, rolloutFolders } from "./codex/files.ts";
import { readCodexNames } from "./codex/names.ts";
import type { CodexNames } from "./codex/read.ts";
import { type Around, readSession } from "./read.ts";
import type { Problem, Session, Unreadable } from "./session.ts";
import { type FoundFile, walk, whyOf } from "./walk.ts";

/** Where each program leaves its sessions; null: this user has no such place. */
export type SessionFolders = { codex: string | null; claude: string | null };

/** The programs' own folders, as they find them themselves: by CODEX_HOME and CLAUDE_CONFIG_DIR, else in HOME. */
export function sessionFolders(env: NodeJS.ProcessEnv): SessionFolders {
  const home = env.HOME ?? env.USERPROFILE;
  const of = (named: string | undefined, usual: string): string | null => {
    if (named !== undefined && named !== "") return named;
    return home !== undefined && isAbsolute(home) ? join(home, usual) : null;
  };
  return { codex: of(env.CODEX_HOME, ".codex"), claude: of(env.CLAUDE_CONFIG_DIR, ".claude") };
}

type Candidates = { files: FoundFile[]; rollouts: RolloutFiles; names: CodexNames; problems: Problem[] };

/** Every file in which a session of this user goes on, newest first; none of them is opened. */
async function candidates({ codex, claude }: SessionFolders): Promise<Candidates> {
  const problems: Problem[] = [];
  const below = async (folder: string | null, name: string, wanted: (path: string) => boolean): Promise<FoundFile[]> => {
    const root = folder === null ? null : await realpath(join(folder, name)).catch(() => null);
    if (root === null) return [];
    const walked = await walk(root, wanted);
    problems.push(...walked.problems);
    return walked.files;
  };
  const [rolloutFiles = [], archived = []] = await Promise.all(rolloutFolders.map((name) => below(codex, name, isRollout)));
  // Archived ones are not offered, but a fork may refer to them.
  const rollouts = new RolloutFiles([...rolloutFiles, ...archived].map((file) => file.path));
  const heads = new Set(rollouts.heads());
  const transcripts = await below(claude, "projects", isTranscript);
  const files = [...rolloutFiles.filter((file) => heads.has(file.path)), ...transcripts];
  files.sort((a, b) => b.changedAt - a.changedAt);
  const names = codex === null ? new Map<string, string>() : await readCodexNames(join(codex, "session_index.jsonl"));
  return { files, rollouts, names, problems };
}

type SessionSummary = Omit<Session, "messages"> & { messages: number };
export type Found = {
  /** Newest first. */
  sessions: SessionSummary[];
  /** Older files that were not opened. */
  more: number;
  unreadable: Unreadable[];
  problems: Problem[];
};

/** The newest sessions that the person themself has led. */
export async function findSessions(folders: SessionFolders, limit: number, onFile?: (path: string) => void): Promise<Found> {
  const { files, rollouts, names, problems } = await candidates(folders);
  const found: Found = { sessions: [], more: 0, unreadable: [], problems };
  for (const [place, { path }] of files.entries()) {
    if (found.sessions.length >= limit) {
      found.more = files.length - place;
      break;
    }
    onFile?.(path);
    const read = await readSession(path, null, { files: rollouts, names });
    if (!read.ok) found.unreadable.push(read);
    else if (read.session.startedBy === "person") found.sessions.push({ ...read.session, messages: read.session.messages.length });
  }
  found.sessions.sort((a, b) => b.changedAt - a.changedAt);
  return found;
}

/** The files that a session's id, or a beginning of it, may mean, with what reading them takes. */
export async function lookUp(folders: SessionFolders, ref: string): Promise<{ paths: string[]; around: Around }> {
  const { files, rollouts, names } = await candidates(folders);
  const idIn = (path: string) => /([0-9a-f-]{36})(?:_[0-9a-f-]{36})?\.jsonl/.exec(basename(path))?.[1] ?? basename(path, ".jsonl");
  return { paths: files.map((file) => file.path).filter((path) => idIn(path).startsWith(ref)), around: { files: rollouts, names } };
}

export type Gathered = { paths: string[]; around: Around; problems: Problem[] };

/** The session files that paths mean: files as they are, folders with all that is below them. */
export async function gather(paths: readonly string[]): Promise<Gathered> {
  const files: string[] = [];
  const problems: Problem[] = [];
  const rollouts: string[] = [];
  const names = new Map<string, string>();
  for (const path of paths) {
    try {
      const real = await realpath(path);
      if ((await stat(real)).isDirectory()) await gatherFolder(real);
      else files.push(real);
    } catch (error) {
      problems.push({ file: path, line: null, why: whyOf(error) });
    }
  }
  const known = rollouts.length === 0 ? null : new RolloutFiles(rollouts);
  const around = { names, ...(known !== null && { files: known }) };
  return { paths: [...new Set([...files, ...(known?.heads() ?? [])])], around, problems };

  async function gatherFolder(folder: string): Promise<void> {
    const walked = await walk(folder, (path) => isRollout(path) || isTranscript(path) || basename(path) === "session_index.jsonl");
    problems.push(...walked.problems);
    for (const { path } of walked.files) {
      if (basename(path) === "session_index.jsonl") for (const [id, name] of await readCodexNames(path)) names.set(id, name);
      else if (isRollout(path)) rollouts.push(path);
      else files.push(path);
    }
  }
}

/** By its name: what may be a session of Claude Code, and is neither a subagent's nor one of the programs' other lists. */
function isTranscript(path: string): boolean {
  const name = basename(path);
  if (!name.endsWith(".jsonl") || name === "session_index.jsonl" || name === "history.jsonl" || name.startsWith("agent-")) return false;
  return !path.split(sep).includes("subagents") && !isRollout(path);
}
