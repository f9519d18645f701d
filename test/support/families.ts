import { expect } from "vitest";
import type { RunId, TaskId, ThreadId } from "../../schemas/ids.ts";
import type { Run } from "../../schemas/run.ts";
import type { ContextTransfer } from "../../schemas/transfer.ts";
import { type TestEnvironment, until } from "./environments.ts";

/** What the scripted provider of these tests does, by what a message holds. */
export const familyScript = {
  rules: [
    { match: { contains: "wait for me" }, steps: [{ ask: { text: "go on?" } }, { text: "went on" }] },
    { match: { contains: "hang" }, steps: [{ hang: true }] },
    { match: { contains: "say nothing" }, steps: [{ reasoning: "there is nothing to say" }] },
    { match: { contains: "break down" }, steps: [{ text: "I got this far." }, { fail: { message: "the tool broke" } }] },
    { match: { contains: "slow to accept" }, steps: [{ acceptAfterMs: 60_000 }, { text: "at last" }] },
    { match: { contains: "turn it away" }, steps: [{ fail: { when: "before_accept", message: "not now" } }] },
  ],
};

/** A thread whose own agent is in the middle of a run, as it is when it calls a tool. */
export type Parent = { threadId: ThreadId; runId: RunId };

export async function parentAtWork(env: TestEnvironment, more: Record<string, unknown> = {}): Promise<Parent> {
  const threadId = await env.newThread(more);
  return beAtWork(env, threadId);
}

/** Sends what keeps the thread's agent at work until {@link goOn}. */
export async function beAtWork(env: TestEnvironment, threadId: ThreadId): Promise<Parent> {
  const { runId } = await env.send({ type: "thread.send", threadId, text: "wait for me" });
  await until(() => env.runs.get(runId)?.status === "waiting", "the parent is at work");
  return { threadId, runId };
}

/** Lets the parent's run come to its end. */
export async function goOn(env: TestEnvironment, parent: Parent): Promise<Run> {
  const requestId = env.runs.get(parent.runId)?.openRequests[0]?.requestId ?? "";
  await env.send({ type: "run.answer", runId: parent.runId, requestId, answer: "yes" });
  return env.ended(parent.runId);
}

/** The call of the parent's own agent. */
export const asAgent = (parent: Parent) => ({ caller: { kind: "thread", threadId: parent.threadId, runId: parent.runId } }) as const;

export async function spawnAsAgent(env: TestEnvironment, parent: Parent, prompt: string, more: Record<string, unknown> = {}) {
  return env.send({ type: "task.spawn", parentThreadId: parent.threadId, prompt, ...more }, asAgent(parent));
}

export async function taskEnded(env: TestEnvironment, taskId: TaskId) {
  const task = await env.tasks.wait(taskId, { timeoutMs: 20_000 });
  if (task === null || task.endedAt === null) throw new Error(`${taskId} did not end: ${task?.status}`);
  return task;
}

export function resultsFor(env: TestEnvironment, parent: ThreadId): ContextTransfer[] {
  return env.transfers.list({ target: parent }).filter((t) => t.type === "subagent_result");
}

/** How often each result was told to the parent's provider, by the task's title. */
export function timesTold(env: TestEnvironment, parent: ThreadId, instance = "p1"): Map<string, number> {
  const told = new Map<string, number>();
  for (const input of env.inputs(instance).filter((i) => i.threadId === parent))
    for (const text of input.context) {
      const title = /^Result of the task "([^"]*)"/.exec(text)?.[1];
      if (title !== undefined) told.set(title, (told.get(title) ?? 0) + 1);
    }
  return told;
}

/** Every result is consumed, by one run and once in its life. */
export function expectEachConsumedOnce(env: TestEnvironment, results: readonly ContextTransfer[]): void {
  for (const result of results) {
    expect(result).toMatchObject({ status: "consumed", consumedByRunId: expect.any(String) });
    expect(env.transfers.history(result.id).filter((step) => step.event === "transfer.consumed")).toHaveLength(1);
  }
}
