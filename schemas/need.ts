import { z } from "zod";
import { ActorId, ThreadId } from "./ids.ts";
import { Text, Timestamp } from "./text.ts";

/** Why something waits for a person. */
export const NeedKind = z.enum([
  /** An agent asks whether it may do something. */
  "approval",
  /** An agent asks something that only a person knows. */
  "question",
  /** What was to be told to a thread could not be. */
  "failed_transfer",
  /** A run failed and nobody has gone on since. */
  "failed_run",
  /** Likewise, because the provider gives no more for now. */
  "usage_limit",
  /** Likewise, because the provider does not know who asks. */
  "login",
  /** A run does not get on. */
  "stuck_run",
  /** A task waits for an environment that does not answer. */
  "waiting_task",
  /** A move waits for an environment that does not answer, or for something here that only a person can end. */
  "waiting_move",
  /** What both sides of a link remember does not fit together. */
  "diverged_link",
  /** The broker takes nothing of a link. */
  "blocked_link",
]);
export type NeedKind = z.infer<typeof NeedKind>;

/** Something that does not go on without a person. */
export const Need = z.object({
  kind: NeedKind,
  /** The run, transfer, task, move or link that waits. */
  about: ActorId,
  /** The thread that it is in; null for a link. */
  threadId: ThreadId.nullable(),
  /** The thread's title or the link's name. */
  title: Text,
  since: Timestamp,
  why: Text,
  /** Arguments of `ropewalk` that clear it; `TEXT` stands for words that only a person has. */
  act: z.array(Text).min(1),
});
export type Need = z.infer<typeof Need>;
