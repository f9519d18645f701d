import type { RunId, ThreadId } from "../../schemas/ids.ts";
import type { LocalClient } from "../http/client.ts";
import { type ExitCode, exitCode } from "./exit-codes.ts";
import { type Followed, followRun } from "./follow-run.ts";
import { plainText } from "./item-text.ts";
import { RunPrinter } from "./run-printer.ts";
import type { Shell } from "./shell.ts";
import { tellFailure } from "./tell-failure.ts";
import { duration } from "./time.ts";

/** Options of every command that starts a run. */
export type WaitOptions = { wait?: boolean; timeout?: string };

/** What the options say; null is without a bound. Told before anything is started. */
export const waitBound = (options: WaitOptions): number | null => (options.timeout === undefined ? null : duration(options.timeout));

/**
 * Follows a run that a command has started, printing what it says, and answers with how it ended. `about` is what the
 * machine-readable answer has besides.
 */
export async function awaitRun(
  shell: Shell,
  client: LocalClient,
  started: { threadId: ThreadId; runId: RunId; after: number; timeoutMs: number | null },
  about: object,
): Promise<ExitCode> {
  const printer = new RunPrinter((text) => shell.note(text));
  const quiet = { onItem() {}, onProgress() {}, isMidLine: false };
  const followed = await followRun(client, started, shell.json ? quiet : printer);
  printer.done();
  const exit = exitOfRun(followed);
  if (shell.json) {
    const { run, items } = followed;
    const ok = exit === exitCode.ok;
    process.stdout.write(
      `${JSON.stringify({ ok, ...about, ...(run.error !== null && { refusal: run.error }), status: run.status, text: lastMessage(followed), run, items })}\n`,
    );
  }
  tell(shell, followed);
  return exit;
}

/** What a parent would be told of the run: its last message. */
function lastMessage({ items }: Pick<Followed, "items">): string | null {
  const last = items.findLast((item) => item.body.kind === "assistant_message");
  return last?.body.kind === "assistant_message" ? plainText(last.body.content) : null;
}

function exitOfRun({ end, run }: Followed): ExitCode {
  switch (end) {
    case "waiting":
      return exitCode.needsYou;
    case "timeout":
      return exitCode.waitBound;
    case "interrupted":
      return exitCode.interrupted;
    case "ended":
      return run.status === "completed" ? exitCode.ok : exitCode.refused;
  }
}

function tell(shell: Shell, { end, run, items }: Followed): void {
  const asked = items.findLast((item) => item.body.kind === "approval")?.body;
  switch (end) {
    case "timeout":
      shell.note(`not done within the time; the run goes on: ropewalk show ${run.threadId}`);
      break;
    case "interrupted":
      shell.note(`the run goes on: ropewalk show ${run.threadId}; stop it with: ropewalk stop ${run.threadId}`);
      break;
    case "waiting":
      if (asked?.kind === "approval" && !process.stderr.isTTY) shell.note(`asks: ${plainText(asked.content)}`);
      shell.note(`it waits for you; answer with: ropewalk ok ${run.threadId} (or no, or answer)`);
      break;
    case "ended":
      if (run.status === "interrupted") shell.note(`stopped${run.interruptReason === null ? "" : `: ${run.interruptReason}`}`);
      if (run.status === "failed" && run.error !== null) tellFailure(run.error);
  }
}
