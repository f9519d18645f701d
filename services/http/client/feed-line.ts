import type { Change } from "../../../schemas/feed.ts";
import type { RunId } from "../../../schemas/ids.ts";

/** One line of the feed (NDJSON). A client that comes back asks for what is after the last `commit` that it has read. */
export type FeedLine =
  /** Everything that one commit changed. */
  | { type: "commit"; commit: number; changes: Change[] }
  /** Everything up to `commit` has been told; what follows is live. Sent once. */
  | { type: "synchronized"; commit: number }
  /** Unfinished text of a running run, all of it so far. No commit of its own, and not repeated to one who comes back. */
  | { type: "progress"; runId: RunId; text: string }
  /** Nothing new for a while; everything up to `commit` has been told. */
  | { type: "heartbeat"; commit: number };
