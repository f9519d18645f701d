import { type TestEnvironment, until } from "./environments.ts";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Real ids of an environment, by the noun before their colon: what is made up names what is there. */
export type IdPool = Record<string, readonly string[]>;

/** Threads of every kind, and the ids of all that is there. */
export async function inhabited(env: TestEnvironment): Promise<IdPool> {
  const idle = await env.newThread();
  const run = await env.say(idle, "hello");
  await env.say(idle, "a long one ".repeat(3_000));
  const { threadId: fork } = await env.send({ type: "thread.fork", threadId: idle, at: { kind: "latest_stable" } });
  await env.say(fork, "aside");
  const busy = await env.newThread();
  const { runId } = await env.send({ type: "thread.send", threadId: busy, text: "hang" });
  await until(() => env.runs.get(runId)?.status === "running");
  const { taskId } = await env.send({ type: "task.spawn", parentThreadId: idle, prompt: "count" });
  await until(() => env.tasks.get(taskId)?.endedAt != null);
  const gone = await env.newThread();
  await env.send({ type: "thread.delete", threadId: gone });
  return {
    thread: [idle, fork, busy, gone],
    run: [run.id, runId],
    task: [taskId],
    item: env.threads.items(fork).map((item) => item.id),
    transfer: env.transfers.list().map((transfer) => transfer.id),
    handoff: env.transfers.list().flatMap((transfer) => env.transfers.handoffsOf(transfer.id).map((handoff) => handoff.id)),
    checkpoint: run.checkpointId === null ? [] : [run.checkpointId],
    project: env.projects.list().map((project) => project.id),
    env: [env.id],
  };
}

/** Values that nobody should send. */
export const nonsense: Json[] = [
  null,
  true,
  0,
  -1,
  0.5,
  1e308,
  Number.MAX_SAFE_INTEGER + 2,
  "",
  " ",
  "\u0000",
  "\u001b[31mred",
  "thread:",
  "thread:import:",
  `thread:import:${"0".repeat(32)}`,
  "thread:0197f000-0000-7000-8000-000000000001\n",
  "../../etc/passwd",
  "/",
  "%00",
  "cmd:x",
  "run.ended",
  "system",
  [],
  {},
  [[]],
  { kind: "system" },
  "🪢".repeat(50),
  "\u202e",
  "x".repeat(300_000),
  "env:0197f000-0000-7000-8000-00000000ffff",
  { text: "x" },
];
