import type { MoveId } from "../../schemas/ids.ts";
import type { Move } from "../../schemas/move.ts";
import type { LocalClient } from "../http/client.ts";
import { type ExitCode, exitCode } from "./exit-codes.ts";
import { untilInterrupted } from "./interrupt.ts";
import { Progress } from "./progress.ts";
import type { Shell } from "./shell.ts";
import { tellFailure } from "./tell-failure.ts";
import { oneLine } from "./terminal.ts";
import { moveWords } from "./words.ts";

const sliceMs = 5_000;

/** Waits until a move is decided, and says where the thread is. Whoever stops waiting stops nothing. */
export async function awaitMove(shell: Shell, client: LocalClient, id: MoveId, timeoutMs: number, about: object): Promise<ExitCode> {
  const progress = new Progress("asking the other environment");
  const { value: move, interrupted } = await untilInterrupted((signal) => decided(client, id, timeoutMs, signal, progress));
  progress.done();
  const exit = interrupted ? exitCode.interrupted : exitOf(move);
  if (shell.json) {
    const refusal = move.error === null ? {} : { refusal: move.error };
    process.stdout.write(`${JSON.stringify({ ok: exit === exitCode.ok, ...about, ...refusal, move })}\n`);
  } else if (move.status === "departed") {
    shell.print(move.targetThreadId);
    shell.note(`it lives in ${move.environmentId} now; go on there`);
    for (const what of move.left) shell.note(oneLine(what));
  }
  if (move.status === "failed" && move.error !== null) tellFailure(move.error);
  if (move.endedAt === null) shell.note(`not decided yet (${moveWords(move)}); it goes on: ropewalk show ${move.threadId}`);
  return exit;
}

function exitOf({ status }: Move): ExitCode {
  if (status === "departed") return exitCode.ok;
  return status === "failed" ? exitCode.refused : exitCode.waitBound;
}

async function decided(client: LocalClient, id: MoveId, timeoutMs: number, signal: AbortSignal, progress: Progress): Promise<Move> {
  const end = performance.now() + timeoutMs;
  const aborted = new Promise<null>((resolve) => signal.addEventListener("abort", () => resolve(null), { once: true }));
  for (;;) {
    const left = Math.max(0, Math.min(sliceMs, end - performance.now()));
    const waited = await Promise.race([client.waitForMove(id, { timeoutMs: Math.round(left) }), aborted]);
    const move = waited?.move ?? (await client.move(id)).move;
    if (move.endedAt !== null || signal.aborted || performance.now() >= end) return move;
    progress.text = moveWords(move);
  }
}
