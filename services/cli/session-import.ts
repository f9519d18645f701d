import type { ThreadId } from "../../schemas/ids.ts";
import type { Refusal } from "../../schemas/refusal.ts";
import type { LocalClient } from "../http/client.ts";
import { gather } from "../sessions/find.ts";
import { readSession } from "../sessions/read.ts";
import type { LeftOut, Problem, Session, SessionAgent, Unreadable } from "../sessions/session.ts";
import { Adopter } from "./adopt.ts";
import { type ExitCode, exitCode } from "./exit-codes.ts";
import { badInput } from "./failure.ts";
import { untilInterrupted } from "./interrupt.ts";
import { during } from "./progress.ts";
import { ProgressBar } from "./progress-bar.ts";
import { providerChoice } from "./references.ts";
import { agentNames, leftOutWords, problemWords, unreadableWords } from "./session-words.ts";
import type { Shell } from "./shell.ts";
import { isTerminal, oneLine } from "./terminal.ts";
import { counted } from "./words.ts";

export type SessionImportOptions = { from: SessionAgent; again?: boolean; with?: string } & Partial<Record<NotWithSessions, unknown>>;
type NotWithSessions = "to" | "thread" | "prompt" | "handoff" | "project" | "title" | "wait" | "timeout";

/** What became of one session. */
type Outcome = Pick<Session, "agent" | "id" | "file" | "title" | "turns"> & {
  /** `subagent`: it was not led by a person, or was opened by ropewalk itself. */
  status: "imported" | "already" | "grown" | "deleted" | "refused" | "subagent";
  threadId: ThreadId | null;
  messages: number;
  leftOut: LeftOut;
  problems: Problem[];
  refusal?: Refusal;
};

/** Makes a thread of every session of a program below the given paths, one after another; a session that fails stops no other. */
export async function importSessions(
  shell: Shell,
  client: LocalClient,
  paths: readonly string[],
  options: SessionImportOptions,
): Promise<ExitCode> {
  const unfit = (["to", "thread", "prompt", "handoff", "project", "title", "wait", "timeout"] as const).find(
    (name) => options[name] !== undefined && !(name === "wait" && options.wait === true),
  );
  if (unfit !== undefined)
    throw badInput("option_with_sessions", `--${unfit} does not go with --from`, "Leave it out; `ropewalk continue` sends a message.");
  if (paths.length === 0 || paths.some((path) => path === "-" || path === ""))
    throw badInput(
      "no_file",
      "nothing to import",
      `Name session files or folders, like ${options.from === "codex" ? "~/.codex/sessions" : "~/.claude/projects"}.`,
    );
  const provider = options.with === undefined ? undefined : providerChoice(options.with);
  const gathered = await during("looking for sessions", gather(paths));
  const adopter = await Adopter.create(shell, client);
  const outcomes: Outcome[] = [];
  const unreadable: Unreadable[] = [];
  const bar = new ProgressBar(gathered.paths.length);
  const { interrupted } = await untilInterrupted(async (signal) => {
    for (const path of gathered.paths) {
      if (signal.aborted) return;
      bar.show(path);
      await importOne(path);
      bar.step();
    }
  });
  bar.hide();
  return tell();

  async function importOne(path: string): Promise<void> {
    const read = await readSession(path, options.from, gathered.around);
    if (!read.ok) {
      unreadable.push(read);
      if (!isTerminal() && !shell.json && read.kind === "unreadable") shell.print(`not read: ${oneLine(path)}`);
      return;
    }
    const { session } = read;
    const { agent, id, file, title, turns, leftOut, problems } = session;
    const base = { agent, id, file, title, turns, messages: session.messages.length, leftOut, problems };
    // A subagent's session that a person names is meant; among others below a folder it is part of its parent's.
    const isOthers = session.startedBy !== "person" && !paths.includes(path);
    const adopted = isOthers
      ? ({ status: "subagent" } as const)
      : await adopter.adopt(session, { again: options.again === true, ...(provider !== undefined && { provider }) });
    const outcome: Outcome = { ...base, threadId: null, ...adopted };
    outcomes.push(outcome);
    if (!isTerminal() && !shell.json && !isOthers) shell.print(lineOf(outcome));
  }

  function tell(): ExitCode {
    const count = (status: Outcome["status"]) => outcomes.filter((outcome) => outcome.status === status).length;
    const unread = unreadable.filter((file) => file.kind === "unreadable").length;
    const missing = gathered.problems.length;
    const counts = {
      imported: count("imported"),
      already: count("already"),
      grown: count("grown"),
      deleted: count("deleted"),
      refused: count("refused"),
      subagents: count("subagent") + unreadable.filter((file) => file.kind === "subagent").length,
      others: unreadable.filter((file) => file.kind === "other").length,
      empty: unreadable.filter((file) => file.kind === "empty").length,
      unreadable: unread,
    };
    const nothing = outcomes.length === 0 && unread + missing > 0;
    const ok = !nothing && !interrupted && counts.refused === 0;
    if (shell.json) {
      process.stdout.write(`${JSON.stringify({ ok, counts, interrupted, sessions: outcomes, unreadable, problems: gathered.problems })}\n`);
    } else {
      shell.print(summary(options.from, counts));
      for (const outcome of outcomes.filter(isWorthAWord)) shell.note(lineOf(outcome));
      for (const words of unreadableWords(unreadable, gathered.problems)) shell.note(words);
      for (const { file, problems } of outcomes)
        if (problems.length > 0) shell.note(`partly read: ${problems.map(problemWords)[0] ?? file}`);
    }
    if (interrupted) return exitCode.interrupted;
    if (counts.refused > 0) return exitCode.refused;
    return nothing ? exitCode.badInput : exitCode.ok;
  }

  /** In a pipe every session has had its line already. */
  function isWorthAWord({ status, leftOut }: Outcome): boolean {
    return isTerminal() && (status === "grown" || status === "refused" || (status === "imported" && leftOutWords(leftOut) !== ""));
  }
}

function lineOf({ status, threadId, title, turns, leftOut, refusal }: Outcome): string {
  const about = `${oneLine(title) || "untitled"} (${counted(turns, "turn")})`;
  const missing = leftOutWords(leftOut);
  switch (status) {
    case "imported":
      return `imported: ${about} → ${threadId}${missing === "" ? "" : `; ${missing}`}`;
    case "already":
      return `imported before: ${about} → ${threadId}`;
    case "grown":
      return `has gone on since it became ${threadId}: ${about}; --again makes another thread of it`;
    case "deleted":
      return `its thread was deleted: ${about}; --again makes another`;
    case "refused":
      return `refused: ${about}: ${oneLine(refusal?.message ?? "")}`;
    case "subagent":
      return `not a person's: ${about}`;
  }
}

function summary(from: SessionAgent, counts: Record<string, number>): string {
  const words: [string, string][] = [
    ["already", "imported before"],
    ["grown", "gone on since"],
    ["deleted", "with a deleted thread"],
    ["refused", "refused"],
    ["unreadable", "that could not be read"],
  ];
  const rest = words.flatMap(([name, what]) => ((counts[name] ?? 0) > 0 ? [`${counts[name]} ${what}`] : []));
  return `${counted(counts.imported ?? 0, "session")} of ${agentNames[from]} imported${rest.length === 0 ? "" : `; ${rest.join(", ")}`}`;
}
