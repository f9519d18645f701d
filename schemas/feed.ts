import { z } from "zod";
import { ActorId, ActorKind, ThreadId } from "./ids.ts";
import { TurnItem } from "./item.ts";
import { Timestamp } from "./text.ts";

/** One committed change, as a client follows it. `commit` and `index` order all of them. */
export const Change = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("actor"),
    commit: z.number().int().positive(),
    index: z.number().int().nonnegative(),
    actorId: ActorId,
    kind: ActorKind,
    /** The actor's own event count after it. */
    seq: z.number().int().positive(),
    event: z.string(),
    from: z.string().nullable(),
    to: z.string(),
    at: Timestamp,
  }),
  z.object({
    type: z.literal("item"),
    commit: z.number().int().positive(),
    index: z.number().int().nonnegative(),
    threadId: ThreadId,
    item: TurnItem,
  }),
]);
export type Change = z.infer<typeof Change>;
