import type { RunId, ThreadId, TransferId } from "../../../schemas/ids.ts";
import type { Need, NeedKind } from "../../../schemas/need.ts";
import type { Refusal } from "../../../schemas/refusal.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import type { Store } from "../ports/store.ts";
import { asRun, asTransfer, runsOf, threadFrom } from "../typed-actors.ts";
import { inPages, lastEventAt } from "./pages.ts";

/**
 * Failures that nobody has gone on from: of runs, and of what was to be told to a thread. One for each thread: the next
 * message takes up all of them.
 */
export async function openFailures(store: Store): Promise<Need[]> {
  const needs = new Map<ThreadId, Need>();
  for await (const rows of inPages(store, { kind: "transfer", statuses: ["failed"] }))
    for (const { id, targetThreadId, error, createdAt } of rows.map(asTransfer)) {
      const thread = ofPerson(store, targetThreadId);
      const since = lastEventAt(store, id) ?? createdAt;
      if (thread !== null && !isSeen(thread, since)) needs.set(thread.id, needOf(thread, "failed_transfer", id, error, since));
    }
  for await (const rows of inPages(store, { kind: "run", statuses: ["failed"] }))
    for (const { id, threadId, ordinal, error, endedAt, createdAt } of rows.map(asRun)) {
      const thread = needs.has(threadId) ? null : ofPerson(store, threadId);
      const since = endedAt ?? createdAt;
      if (thread?.lastOrdinal === ordinal && !isSeen(thread, since)) needs.set(threadId, needOf(thread, kindOf(error), id, error, since));
    }
  return [...needs.values()];
}

/** A thread that a person looks after. How an agent's child fared is told to its parent; what was put away says nothing. */
function ofPerson(store: Store, id: ThreadId): AppThread | null {
  const thread = threadFrom(store, id);
  if (thread === null || thread.status === "deleted") return null;
  if (thread.marks.archived !== undefined || thread.marks.snoozed !== undefined) return null;
  if (thread.task === null) return thread;
  const [last] = runsOf(store, id, { min: thread.lastOrdinal });
  return last?.createdBy === "user" ? thread : null;
}

const isSeen = (thread: AppThread, at: number): boolean => (thread.marks.read ?? 0) >= at;

function kindOf(error: Refusal | null): NeedKind {
  if (error?.reason === "usage_limit") return "usage_limit";
  return error !== null && loginReasons.has(error.reason) ? "login" : "failed_run";
}
const loginReasons: ReadonlySet<string> = new Set(["login_required", "access_denied"]);

function needOf(thread: AppThread, kind: NeedKind, about: RunId | TransferId, error: Refusal | null, since: number): Need {
  const why = error === null ? "it failed" : [error.message, error.hint].filter((part) => part !== "").join(" ");
  return { kind, about, threadId: thread.id, title: thread.title, since, why, act: ["send", thread.id, "--again"] };
}
