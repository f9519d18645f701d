import type { z } from "zod";
import type { FeedLine as Line } from "../feed-line.ts";

/** One line of the feed. A client that comes back asks for what is after the last `commit` that it has read. */
export type FeedLine = z.output<typeof Line>;
