import type { RequestId, TaskId, ThreadId } from "../../schemas/ids.ts";
import { until } from "./environments.ts";
import type { LinkedSide } from "./linked.ts";

const conversation = [
  { role: "user" as const, text: "My ship is the Heliotrope." },
  { role: "assistant" as const, text: "Noted." },
];
export const importOf = (handoffId: string, more: Record<string, unknown> = {}) => ({
  handoffId,
  sourceEnvironmentId: "a field of the message",
  sourceThreadId: "the-source",
  messages: conversation,
  ...more,
});

/** Sends an import over the link and waits for what the peer says. */
export async function importTo(from: LinkedSide, to: LinkedSide, handoffId: string, more: Record<string, unknown> = {}) {
  const sent = await from.env.send({ type: "link.import", environmentId: to.id, import: importOf(handoffId, more) } as never);
  return {
    ...(sent as { requestId: RequestId; threadId: ThreadId }),
    answer: await answerTo(from, (sent as { requestId: RequestId }).requestId),
  };
}

export async function answerTo(side: LinkedSide, requestId: RequestId) {
  const answer = await side.env.links.answer(requestId, { timeoutMs: 20_000 });
  if (answer === null) throw new Error(`${requestId} was not answered`);
  return answer;
}

export async function spawnOn(from: LinkedSide, to: LinkedSide, prompt: string, more: Record<string, unknown> = {}) {
  const parentThreadId = await from.env.newThread();
  const { taskId } = await from.env.send({ type: "task.spawn", parentThreadId, prompt, environmentId: to.id, ...more } as never);
  return { parentThreadId, taskId: taskId as TaskId };
}

/** The child of a task of the peer's. */
export const childOf = (side: LinkedSide, taskId: TaskId) => side.env.threads.list().find((t) => t.task?.taskId === taskId);
export const childRunning = (side: LinkedSide, taskId: TaskId) =>
  until(() => {
    const child = childOf(side, taskId);
    return child !== undefined && side.env.threads.runs(child.id)[0]?.status === "running" && child;
  }, "the child runs");
