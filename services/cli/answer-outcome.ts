import type { RequestId } from "../../schemas/ids.ts";
import type { LinkAnswer } from "../../schemas/wire.ts";
import type { LocalClient } from "../http/client.ts";
import { type ExitCode, exitCode } from "./exit-codes.ts";
import { exitOf } from "./failure.ts";
import { untilInterrupted } from "./interrupt.ts";
import { Progress } from "./progress.ts";
import { type WaitOptions, waitBound } from "./run-outcome.ts";
import type { Shell } from "./shell.ts";
import { tellFailure } from "./tell-failure.ts";

const sliceMs = 5_000;
const usualMs = 60_000;

/** Waits for what another environment answers to a request, and says it. The request goes on whoever waits: it is kept until it is answered. */
export async function awaitLinkAnswer(
  shell: Shell,
  client: LocalClient,
  id: RequestId,
  options: WaitOptions,
  about: { threadId: string } & Record<string, unknown>,
): Promise<ExitCode> {
  if (options.wait === false) {
    shell.answer({ ...about, answer: null }, () => about.threadId);
    return exitCode.ok;
  }
  const progress = new Progress("waiting for the other environment");
  const bound = waitBound(options) ?? usualMs;
  const { value: answer, interrupted } = await untilInterrupted((signal) => answered(client, id, bound, signal));
  progress.done();
  const exit = interrupted ? exitCode.interrupted : answer === null ? exitCode.waitBound : answer.ok ? exitCode.ok : exitOf(answer.refusal);
  if (shell.json) {
    const refusal = answer?.ok === false ? { refusal: answer.refusal } : {};
    process.stdout.write(`${JSON.stringify({ ok: exit === exitCode.ok, ...about, ...refusal, answer })}\n`);
  } else if (answer?.ok === true) shell.print(about.threadId);
  if (answer?.ok === false) tellFailure(answer.refusal);
  if (answer === null) shell.note("no answer yet; the request is kept and goes on: ropewalk link list");
  return exit;
}

async function answered(client: LocalClient, id: RequestId, timeoutMs: number, signal: AbortSignal): Promise<LinkAnswer | null> {
  const end = performance.now() + timeoutMs;
  const aborted = new Promise<{ answer: null }>((resolve) =>
    signal.addEventListener("abort", () => resolve({ answer: null }), { once: true }),
  );
  for (;;) {
    const left = Math.max(0, Math.min(sliceMs, end - performance.now()));
    const { answer } = await Promise.race([client.waitForAnswer(id, { timeoutMs: Math.round(left) }), aborted]);
    if (answer !== null || signal.aborted || performance.now() >= end) return answer;
  }
}
