import { expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import type { RetentionView } from "../../../schemas/retention.ts";
import { retentionWords } from "../../../services/cli/retention-words.ts";

const day = 86_400_000;
const now = 1_000 * day;
const thread = "thread:0193f1d2-0000-7000-8000-000000000001" as ThreadId;
const none: RetentionView = {
  deletedThreadsDays: null,
  backupsKept: null,
  lastLookAt: null,
  nextLookAt: null,
  waiting: 0,
  next: null,
  held: 0,
  heldThreads: [],
};

test("status says that nothing goes by itself, or what does, how much of it, when, and what stays why", () => {
  expect(retentionWords(none, now)).toBe("nothing is removed by itself");
  expect(retentionWords({ ...none, backupsKept: 7 }, now)).toBe("a folder keeps its newest 7 backups");
  const view = { ...none, deletedThreadsDays: 30, waiting: 3, next: { threadId: thread, dueAt: now + 12 * day }, nextLookAt: now + day };
  expect(retentionWords(view, now)).toBe(
    `deleted threads are purged after 30 days, 3 to come, the first in 12 days (${thread}), next look in 1 day`,
  );
  expect(
    retentionWords(
      { ...none, deletedThreadsDays: 1, backupsKept: 1, held: 2, heldThreads: [{ threadId: thread, reason: "has_forks" }] },
      now,
    ),
  ).toBe("deleted threads are purged after 1 day, 2 stay meanwhile (forks show its history); a folder keeps its newest 1 backup");
});
