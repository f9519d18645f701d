import type { RetentionView } from "../../schemas/retention.ts";
import { ahead } from "./time.ts";
import { counted } from "./words.ts";

/** What is removed by itself, when, and what goes next. */
export function retentionWords(view: RetentionView, now: number = Date.now()): string {
  const { backupsKept, deletedThreadsDays } = view;
  const parts = [
    ...(deletedThreadsDays === null ? [] : [threadWords(view, deletedThreadsDays, now)]),
    ...(backupsKept === null ? [] : [`a folder keeps its newest ${counted(backupsKept, "backup")}`]),
  ];
  return parts.join("; ") || "nothing is removed by itself";
}

function threadWords({ next, waiting, held, heldThreads, nextLookAt }: RetentionView, days: number, now: number): string {
  const parts = [`deleted threads are purged after ${counted(days, "day")}`];
  if (next !== null) parts.push(`${waiting} to come, the first in ${ahead(next.dueAt, now)} (${next.threadId})`);
  const reasons = [...new Set(heldThreads.map(({ reason }) => why[reason] ?? reason.replaceAll("_", " ")))];
  if (held > 0) parts.push(`${held} ${held === 1 ? "stays" : "stay"} meanwhile (${reasons.join(", ")})`);
  if (nextLookAt !== null) parts.push(`next look in ${ahead(nextLookAt, now)}`);
  return parts.join(", ");
}

const why: Record<string, string> = {
  has_forks: "forks show its history",
  uncommitted_work: "its worktree holds work",
  thread_running: "its run has not ended",
};
