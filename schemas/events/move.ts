import { z } from "zod";
import { ObjectName } from "../checkpoint.ts";
import { RequestId, ThreadId, TransferId } from "../ids.ts";
import { MoveInput, MoveLack, MoveWait } from "../move.ts";
import { Refusal } from "../refusal.ts";
import { Text } from "../text.ts";
import { stamp } from "./common.ts";

export const MoveCreated = z.object({ type: z.literal("move.created"), input: MoveInput, ...stamp });
export const MoveEvent = z.discriminatedUnion("type", [
  /** The peer has looked, and has all that the thread needs. */
  z.object({ type: z.literal("move.checked"), known: z.array(ObjectName), ...stamp }),
  /** The peer has not, or cannot be asked. */
  z.object({ type: z.literal("move.unfit"), lacks: z.array(MoveLack), error: Refusal, ...stamp }),
  /** Something ended that the thread was busy with. */
  z.object({ type: z.literal("move.thread_rested"), ...stamp }),
  /** Looked at, and not yet: this must end first. */
  z.object({ type: z.literal("move.held"), waitsFor: MoveWait, ...stamp }),
  /** The offer goes out with this commit. */
  z.object({ type: z.literal("move.departing"), offerId: RequestId, carried: z.array(TransferId), left: z.array(Text), ...stamp }),
  /** Taken back before it departed. */
  z.object({ type: z.literal("move.cancelled"), error: Refusal, ...stamp }),
  /** A person says that the peer is gone, and goes on with another thread. What the peer decided stands all the same. */
  z.object({ type: z.literal("move.overridden"), standIn: ThreadId, ...stamp }),
  /** The peer is asked to take it no more, or to say that it has. */
  z.object({ type: z.literal("move.abort_requested"), ...stamp }),
  /** The peer's answer: it lives there. */
  z.object({ type: z.literal("move.accepted"), threadId: ThreadId, left: z.array(Text), ...stamp }),
  /** The peer's answer: nothing of it lives there, and never will. */
  z.object({ type: z.literal("move.refused"), error: Refusal, ...stamp }),
]);
export type MoveCreated = z.infer<typeof MoveCreated>;
export type MoveEvent = z.infer<typeof MoveEvent>;
