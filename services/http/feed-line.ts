import { z } from "zod";
import { Change } from "../../schemas/feed.ts";
import { RunId } from "../../schemas/ids.ts";

const commit = z.number().int().nonnegative();

/** One line of the feed (NDJSON). A client that comes back asks for what is after the last `commit` that it has read. */
export const FeedLine = z.discriminatedUnion("type", [
  /** Everything that one commit changed. */
  z.object({ type: z.literal("commit"), commit, changes: z.array(Change) }),
  /** Everything up to `commit` has been told; what follows is live. Sent once. */
  z.object({ type: z.literal("synchronized"), commit }),
  /** Unfinished text of a running run, all of it so far. No commit of its own, and not repeated to one who comes back. */
  z.object({ type: z.literal("progress"), runId: RunId, text: z.string() }),
  /** Nothing new for a while; everything up to `commit` has been told. */
  z.object({ type: z.literal("heartbeat"), commit }),
]);
