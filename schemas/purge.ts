import { z } from "zod";
import { EnvironmentId, ThreadId } from "./ids.ts";
import { Text } from "./text.ts";

/** Where a text is that is to be purged; never the text itself. */
export const PurgePlace = z.object({
  /** `items`, `journal` and other tables of the store; `file`, `checkpoint`, `objects`, `commit`, `backup`. */
  what: Text,
  /** A file, or a ref with its repository; null in the store. */
  name: Text.nullable(),
  threadId: ThreadId.nullable(),
  count: z.number().int().positive(),
});
export type PurgePlace = z.infer<typeof PurgePlace>;

/** The same where it stays, and what to do about it. */
export const PurgeRest = PurgePlace.extend({ why: Text, hint: Text });
export type PurgeRest = z.infer<typeof PurgeRest>;

/** A provider's own conversation that was told it: not ours to change. */
export const ToldSession = z.object({ threadId: ThreadId, instance: Text, nativeId: Text });
export type ToldSession = z.infer<typeof ToldSession>;

export const PurgeReport = z.object({
  /** Where it is, or was and is gone. */
  places: z.array(PurgePlace),
  /** Where it stays. */
  left: z.array(PurgeRest),
  sessions: z.array(ToldSession),
  /** Linked environments that threads with it have to do with: they may have been told. */
  environments: z.array(EnvironmentId),
});
export type PurgeReport = z.infer<typeof PurgeReport>;
