import { z } from "zod";
import { EnvironmentId, RequestId, RunId, TaskId, ThreadId, TransferId } from "./ids.ts";
import { Content } from "./item.ts";
import { Refusal } from "./refusal.ts";
import { RunEnding } from "./run.ts";
import { Text, Timestamp, Title } from "./text.ts";

export const TaskStatus = z.enum(["requested", "starting", "running", "cancelling", "completed", "failed", "cancelled", "interrupted"]);
export type TaskStatus = z.infer<typeof TaskStatus>;
export const isEndedTask = (status: TaskStatus): boolean =>
  status === "completed" || status === "failed" || status === "cancelled" || status === "interrupted";

/** An answer that came after a person had dismissed the task: kept and shown, not consumed. */
export const LateAnswer = z.object({ runId: RunId, status: RunEnding, content: Content, at: Timestamp });

/** A subagent that the runtime owns; context of the task machine. It lives on the parent's side (decision 27). */
export const TaskContext = z.object({
  id: TaskId,
  title: Title,
  parentThreadId: ThreadId,
  parentRunId: RunId.nullable(),
  /** Root of the lineage that it belongs to; limits on width are counted there. */
  rootThreadId: ThreadId,
  /** Where the child runs; null: here. */
  childEnvironmentId: EnvironmentId.nullable(),
  childThreadId: ThreadId.nullable(),
  /** The request that carries it over a link. */
  requestId: RequestId.nullable(),
  spawnedBy: z.enum(["user", "agent"]),
  depth: z.number().int().positive(),
  createdAt: Timestamp,
  endedAt: Timestamp.nullable(),
  error: Refusal.nullable(),
  /** How many of the child's runs have ended; each gave one result. */
  results: z.number().int().nonnegative(),
  lastResultTransferId: TransferId.nullable(),
  /** Child runs whose end was taken: the same news again (a link may tell it twice) is no second result. */
  endedRunIds: z.array(RunId),
  lateAnswers: z.array(LateAnswer),
  reason: Text.nullable(),
});
export type TaskContext = z.infer<typeof TaskContext>;

export const TaskInput = TaskContext.pick({
  id: true,
  title: true,
  parentThreadId: true,
  parentRunId: true,
  rootThreadId: true,
  childEnvironmentId: true,
  childThreadId: true,
  requestId: true,
  spawnedBy: true,
  depth: true,
});
export type TaskInput = z.infer<typeof TaskInput>;

export const Task = TaskContext.extend({ status: TaskStatus });
export type Task = z.infer<typeof Task>;
