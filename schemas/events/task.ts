import { z } from "zod";
import { RunId, ThreadId } from "../ids.ts";
import { Content } from "../item.ts";
import { Refusal } from "../refusal.ts";
import { RunEnding } from "../run.ts";
import { Task, TaskInput } from "../task.ts";
import { Text } from "../text.ts";
import { stamp } from "./common.ts";

export const TaskCreated = z.object({ type: z.literal("task.created"), input: TaskInput, ...stamp });
export const TaskEvent = z.discriminatedUnion("type", [
  /** It came in a bundle, as it had ended elsewhere (decision 0111). */
  z.object({ type: z.literal("task.imported"), record: Task, ...stamp }),
  /** Child thread and run exist, here or at the peer. */
  z.object({ type: z.literal("task.accepted"), childThreadId: ThreadId, ...stamp }),
  /** The peer (or this environment) would not start it; final. */
  z.object({ type: z.literal("task.refused"), error: Refusal, ...stamp }),
  z.object({ type: z.literal("task.started"), ...stamp }),
  /** A run of the child ended: exactly one result per child run. */
  z.object({
    type: z.literal("task.child_run_ended"),
    childThreadId: ThreadId,
    runId: RunId,
    ordinal: z.number().int().positive(),
    ending: RunEnding,
    result: Content.nullable(),
    error: Refusal.nullable(),
    ...stamp,
  }),
  z.object({ type: z.literal("task.cancel_requested"), reason: Text, ...stamp }),
  /** A person gave it up; marked so. */
  z.object({ type: z.literal("task.dismissed"), reason: Text, ...stamp }),
]);
export type TaskCreated = z.infer<typeof TaskCreated>;
export type TaskEvent = z.infer<typeof TaskEvent>;
