import { z } from "zod";
import { ThreadId } from "./ids.ts";
import { Timestamp } from "./text.ts";

const whole = (what: string, most: number) => {
  const error = `a whole number of ${what} from 1 to ${most}; leave it out to keep all`;
  return z.number({ error }).int({ error }).min(1, { error }).max(most, { error }).optional();
};

/** How long what is kept (decision 0119). What is not named is never removed. */
export const RetentionConfig = z.strictObject({
  /** A thread that was deleted so many days ago is purged. */
  deletedThreadsDays: whole("days", 36_500),
  /** What a backup keeps in its folder when it is made without `--keep`: so many of this environment's newest, itself included. */
  backupsKept: whole("backups", 10_000),
});
export type RetentionConfig = z.infer<typeof RetentionConfig>;

/** Which settings hold, and what goes by them. What there was at the last look; null before there was one. */
export const RetentionView = z.object({
  deletedThreadsDays: z.number().int().nullable(),
  backupsKept: z.number().int().nullable(),
  lastLookAt: Timestamp.nullable(),
  nextLookAt: Timestamp.nullable(),
  /** Deleted threads whose time has not come. */
  waiting: z.number().int().nonnegative(),
  /** The first of them, and when its time comes. It goes with the next look after that. */
  next: z.object({ threadId: ThreadId, dueAt: Timestamp }).nullable(),
  /** Those whose time has come, and that stay while the reason holds; a hundred at most are named. */
  held: z.number().int().nonnegative(),
  heldThreads: z.array(z.object({ threadId: ThreadId, reason: z.string() })),
});
export type RetentionView = z.infer<typeof RetentionView>;
