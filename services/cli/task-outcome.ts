import type { TaskId } from "../../schemas/ids.ts";
import type { Task } from "../../schemas/task.ts";
import type { LocalClient } from "../http/client.ts";
import { type ExitCode, exitCode } from "./exit-codes.ts";
import { untilInterrupted } from "./interrupt.ts";
import { Progress } from "./progress.ts";
import type { Shell } from "./shell.ts";
import { tellFailure } from "./tell-failure.ts";
import { clean, oneLine } from "./terminal.ts";
import { wholeText } from "./unfold.ts";
import { taskWords } from "./words.ts";

const sliceMs = 5_000;

/** Waits for a task, prints its result, and answers with how it ended. Waiting never cancels it. `about` is what the machine-readable answer has besides. */
export async function awaitTask(shell: Shell, client: LocalClient, id: TaskId, timeoutMs: number | null, about: object): Promise<ExitCode> {
  const progress = new Progress("waiting for the task");
  const { value: task, interrupted } = await untilInterrupted((signal) => ended(client, id, timeoutMs, signal, progress));
  progress.done();
  const text = await resultText(client, task);
  const exit = interrupted ? exitCode.interrupted : exitOfTask(task);
  if (shell.json) process.stdout.write(`${JSON.stringify({ ok: exit === exitCode.ok, ...about, status: task.status, text, task })}\n`);
  else if (text !== null) shell.print(clean(text));
  if (task.endedAt === null) shell.note(`the task goes on (${taskWords(task)}): ropewalk task wait ${id}`);
  else if (task.status !== "completed") tellEnd(shell, task);
  return exit;
}

/** Asked anew in short turns, so that Ctrl-C is heard at once. */
async function ended(client: LocalClient, id: TaskId, timeoutMs: number | null, signal: AbortSignal, progress: Progress): Promise<Task> {
  const end = timeoutMs === null ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
  const aborted = new Promise<null>((resolve) => signal.addEventListener("abort", () => resolve(null), { once: true }));
  for (;;) {
    const left = Math.max(0, Math.min(sliceMs, end - performance.now()));
    const waited = await Promise.race([client.waitForTask(id, { timeoutMs: Math.round(left) }), aborted]);
    const task = waited?.task ?? (await client.task(id)).task;
    if (task.endedAt !== null || signal.aborted || performance.now() >= end) return task;
    progress.text = `the task is ${taskWords(task)}`;
  }
}

/** What the child said last; null while nothing has come back. */
async function resultText(client: LocalClient, task: Task): Promise<string | null> {
  if (task.lastResultTransferId === null) return null;
  const { transfer } = await client.transfer(task.lastResultTransferId);
  return transfer.content === null ? null : wholeText(client, transfer.content);
}

function exitOfTask({ status, endedAt }: Task): ExitCode {
  if (endedAt === null) return exitCode.waitBound;
  return status === "completed" ? exitCode.ok : exitCode.refused;
}

function tellEnd(shell: Shell, task: Task): void {
  if (task.error !== null) tellFailure(task.error);
  else shell.note(`${taskWords(task)}${task.reason === null ? "" : `: ${oneLine(task.reason)}`}`);
}
