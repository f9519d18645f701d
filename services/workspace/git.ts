import { spawn } from "node:child_process";

/** How long one call of git may take; what writes a whole folder gets {@link longMs}. */
const usualMs = 30_000;
export const longMs = 300_000;
const maxOutputBytes = 256 * 1024 * 1024;

/**
 * What holds for every call: no hook and no other program of the repository runs, nothing is fetched, collected or logged.
 * Given as the environment, so that nothing has to be quoted.
 */
const settings: readonly (readonly [string, string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.splitIndex", "false"],
  ["core.logAllRefUpdates", "false"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["commit.gpgSign", "false"],
  ["submodule.recurse", "false"],
  ["protocol.allow", "never"],
  ["advice.detachedHead", "false"],
];

export type GitCall = {
  /** Standard input. */
  input?: Buffer;
  /** Another index than the folder's own. */
  index?: string;
  timeoutMs?: number;
  /** More settings, as `[name, value]`. */
  settings?: readonly (readonly [string, string])[];
  env?: Readonly<Record<string, string>>;
};

/** git answered with an error, or not in time. */
export class GitFailure extends Error {
  override readonly name = "GitFailure";
  readonly code: number | null;
  constructor(message: string, code: number | null) {
    super(message);
    this.code = code;
  }
}

/** The environment of a call: the user's, without anything that says where git works or what it does (`GIT_*`). */
function gitEnvironment(call: Pick<GitCall, "index" | "settings" | "env"> = {}): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(process.env)) if (!name.startsWith("GIT_")) env[name] = value;
  const all = [...settings, ...(call.settings ?? [])];
  all.forEach(([name, value], at) => {
    env[`GIT_CONFIG_KEY_${at}`] = name;
    env[`GIT_CONFIG_VALUE_${at}`] = value;
  });
  return {
    ...env,
    ...call.env,
    GIT_CONFIG_COUNT: String(all.length),
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_ALLOW_PROTOCOL: "",
    GIT_NO_LAZY_FETCH: "1",
    GIT_PAGER: "cat",
    LC_ALL: "C",
    ...(call.index === undefined ? {} : { GIT_INDEX_FILE: call.index }),
  };
}

/** Runs git in a folder and answers with what it wrote. Throws {@link GitFailure}. */
export function git(cwd: string, args: readonly string[], call: GitCall = {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // A group of its own: what stops this process by the terminal does not stop git halfway.
    const child = spawn("git", args, { cwd, env: gitEnvironment(call), stdio: ["pipe", "pipe", "pipe"], detached: true });
    const out: Buffer[] = [];
    let size = 0;
    let complaint = "";
    let tooMuch: string | null = null;
    const giveUp = (why: string) => {
      tooMuch ??= why;
      stopGroup(child.pid);
    };
    const timeoutMs = call.timeoutMs ?? usualMs;
    const timer = setTimeout(() => giveUp(`was not done after ${timeoutMs / 1_000} s`), timeoutMs);
    child.stdout.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxOutputBytes) giveUp("answered with too much");
      else out.push(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      if (complaint.length < 4_000) complaint += chunk.toString("utf8");
    });
    child.stdin.on("error", () => {});
    child.stdin.end(call.input ?? Buffer.alloc(0));
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(new GitFailure(`git could not be started: ${error.message}`, null));
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      if (tooMuch === null && code === 0) resolve(Buffer.concat(out));
      else reject(new GitFailure(`git ${args[0]} ${tooMuch ?? `failed: ${firstLines(complaint) || `code ${code}`}`}`, code));
    });
  });
}

/** The same as text, without the line end. */
export async function gitText(cwd: string, args: readonly string[], call: GitCall = {}): Promise<string> {
  return (await git(cwd, args, call)).toString("utf8").trimEnd();
}

/** The same; null when git answers with an error. */
export async function gitMaybe(cwd: string, args: readonly string[], call: GitCall = {}): Promise<string | null> {
  try {
    return await gitText(cwd, args, call);
  } catch (error) {
    if (error instanceof GitFailure) return null;
    throw error;
  }
}

/** The entries of an answer to `-z`, as the bytes that they are: names of files need not be text. */
export function entries(answer: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let from = 0; from < answer.length; ) {
    const to = answer.indexOf(0, from);
    const end = to === -1 ? answer.length : to;
    if (end > from) found.push(answer.subarray(from, end));
    from = end + 1;
  }
  return found;
}

/**
 * Settings that switch off every filter of a repository (LFS, encryption): a file is kept and brought back as the bytes
 * that it is, no program runs, and nothing is fetched.
 */
export async function withoutFilters(cwd: string): Promise<(readonly [string, string])[]> {
  const names = await gitMaybe(cwd, ["config", "--name-only", "-z", "--get-regexp", "^filter\\."]);
  const filters = new Set((names ?? "").split("\0").flatMap((name) => /^filter\.(.+)\.[^.]+$/.exec(name)?.[1] ?? []));
  return [...filters].flatMap((name) => [
    [`filter.${name}.clean`, ""] as const,
    [`filter.${name}.smudge`, ""] as const,
    [`filter.${name}.process`, ""] as const,
    [`filter.${name}.required`, "false"] as const,
  ]);
}

function stopGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

const firstLines = (text: string) => text.trim().split("\n").slice(0, 3).join("; ").slice(0, 500);
