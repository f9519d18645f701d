import { isClaudeEntry } from "./claude/entries.ts";
import { readClaudeSession } from "./claude/read.ts";
import { RolloutFiles } from "./codex/files.ts";
import { type CodexNames, readCodexSession } from "./codex/read.ts";
import { readHead } from "./codex/rollout.ts";
import { LineFile } from "./lines.ts";
import type { SessionAgent, SessionResult } from "./session.ts";
import { unreadable } from "./session.ts";
import { whyOf } from "./walk.ts";

/** Lines in which a session must show what it is. */
const linesToRecognise = 200;
const nothingIn = "it is empty";

/** Whose session a file is, by what is in it; or why that cannot be said. */
async function recognise(path: string): Promise<SessionAgent | { why: string }> {
  try {
    await using file = await LineFile.open(path);
    let seen = 0;
    let first: string | null = null;
    for await (const line of file.lines()) {
      seen += 1;
      if (seen > linesToRecognise) break;
      if ("why" in line) first ??= `line ${line.line}: ${line.why}`;
      else if (seen === 1 && readHead(line.value) !== null) return "codex";
      else if (isClaudeEntry(line.value)) return "claude";
    }
    if (seen === 0) return { why: nothingIn };
    return { why: `it holds no session of Codex or Claude Code${first === null ? "" : ` (${first})`}` };
  } catch (error) {
    return { why: whyOf(error) };
  }
}

/** What is known of the files around a rollout; without it, it is looked for. */
export type Around = { files?: RolloutFiles; names?: CodexNames };

/** One file's session; `wanted`: of this program alone. Never throws. */
export async function readSession(path: string, wanted: SessionAgent | null = null, around: Around = {}): Promise<SessionResult> {
  const agent = await recognise(path);
  if (typeof agent !== "string")
    return unreadable(path, agent.why === nothingIn ? "empty" : "unreadable", { file: path, line: null, why: agent.why });
  if (wanted !== null && wanted !== agent)
    return unreadable(path, "other", { file: path, line: null, why: `it is a session of ${agent}, not of ${wanted}` });
  if (agent === "claude") return readClaudeSession(path);
  const files = around.files ?? (await RolloutFiles.around(path));
  return readCodexSession(path, files, around.names ?? new Map());
}
