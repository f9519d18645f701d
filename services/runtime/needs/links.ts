import type { EnvironmentId } from "../../../schemas/ids.ts";
import type { Link } from "../../../schemas/link.ts";
import type { Move } from "../../../schemas/move.ts";
import type { Need } from "../../../schemas/need.ts";
import type { Task } from "../../../schemas/task.ts";
import type { Store } from "../ports/store.ts";
import { asLink, asMove, asTask, openMoveStatuses, threadFrom } from "../typed-actors.ts";
import { inPages } from "./pages.ts";

/** What the broker has taken nothing of for so long is for a person to look at; a restart of it is not. */
const blockedAfterMs = 60_000;

/** An environment that is there takes a request within moments; a link notices its silence only later. */
const silentAfterMs = 10_000;

/** Since when the broker takes nothing of a link, and why; null while it does. */
export type HeldBack = (link: Link["id"]) => { since: number; message: string } | null;

/** Links that do not go on by themselves, and tasks and moves that wait for an environment that does not answer. */
export async function waitingLinks(store: Store, heldBack: HeldBack, now: number): Promise<Need[]> {
  const needs: Need[] = [];
  /** Environments whose link is told already: what waits for them waits for that. */
  const told = new Set<EnvironmentId>();
  const links = new Map<EnvironmentId, Link>();
  for await (const rows of inPages(store, { kind: "link" }))
    for (const link of rows.map(asLink)) {
      links.set(link.peerEnvironmentId, link);
      const need = linkNeed(store, link, heldBack(link.id), now);
      if (need === null) continue;
      needs.push(need);
      told.add(link.peerEnvironmentId);
    }
  for await (const rows of inPages(store, { kind: "task", statuses: ["requested", "starting", "running"] }))
    for (const task of rows.map(asTask)) {
      const { childEnvironmentId: where } = task;
      if (where === null || told.has(where)) continue;
      const link = links.get(where);
      if (link?.status === "online" && !isUnheard(store, link, task, now)) continue;
      const [name, since] = link === undefined ? ["an environment that no link leads to", 0] : [link.name, link.since];
      needs.push({
        kind: "waiting_task",
        about: task.id,
        threadId: task.parentThreadId,
        title: task.title,
        since: Math.max(task.createdAt, since),
        why: `${name} does not answer; it goes on when ${link === undefined ? "there is one" : "that is back"}`,
        act: ["task", "cancel", task.id],
      });
    }
  for await (const rows of inPages(store, { kind: "move", statuses: openMoveStatuses }))
    for (const move of rows.map(asMove)) {
      const link = links.get(move.environmentId);
      if (move.waitsFor !== "peer" || told.has(move.environmentId) || (link?.status === "online" && !isUnheard(store, link, move, now)))
        continue;
      const [name, since] = link === undefined ? ["an environment that no link leads to", 0] : [link.name, link.since];
      needs.push({
        kind: "waiting_move",
        about: move.id,
        threadId: move.threadId,
        title: threadFrom(store, move.threadId)?.title ?? "",
        since: Math.max(move.departingAt ?? move.createdAt, since),
        why: `${name} does not answer; the thread ${move.status === "departing" ? "takes no turns until it does" : "stays here until it does"}`,
        act: ["move", move.threadId, "--cancel"],
      });
    }
  return needs;
}

/** What was asked is still here although the link is up. */
function isUnheard(store: Store, link: Link, asked: Pick<Task | Move, "status" | "createdAt">, now: number): boolean {
  return waitsToBeHeard.has(asked.status) && now - asked.createdAt >= silentAfterMs && store.outboxCount(link.id) > 0;
}

const waitsToBeHeard: ReadonlySet<string> = new Set(["requested", "pending", "departing"]);

function linkNeed(store: Store, link: Link, held: ReturnType<HeldBack>, now: number): Need | null {
  const about = { about: link.id, threadId: null, title: link.name, act: ["link", "show", link.id] };
  if (link.status === "diverged")
    return { kind: "diverged_link", ...about, since: link.since, why: link.error ?? "the two sides disagree" };
  if (held === null || now - held.since < blockedAfterMs || store.outboxCount(link.id) === 0) return null;
  return { kind: "blocked_link", ...about, since: held.since, why: `the broker takes nothing: ${held.message}` };
}
