import type { Command, PublicCommand } from "../../schemas/command.ts";
import type { Grant } from "../../schemas/link.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { liveLink } from "./access.ts";
import { needThread, type PlanContext } from "./plan.ts";
import { refuse } from "./refused.ts";
import { asThread } from "./typed-actors.ts";

/**
 * What a link needs for each command (docs/access.md):
 * - `never`: it is not for links, whatever they were granted;
 * - `threadImport`, `spawn`: that grant;
 * - `starts`: one by which things start (these two, or `move`), and the thread carries its stamp;
 * - `stops`: no grant, and the thread carries its stamp: a link may always take back what it has started.
 */
type Need = "never" | "threadImport" | "spawn" | "starts" | "stops";

const linkNeeds: { readonly [type in PublicCommand["type"]]: Need } = {
  "project.add": "never",
  "project.configure": "never",
  "thread.create": "never",
  "thread.launch": "never",
  "thread.send": "starts",
  "thread.fork": "starts",
  "thread.switch": "starts",
  "thread.merge_back": "starts",
  "thread.move": "never",
  "thread.move_cancel": "never",
  "thread.purge": "never",
  "thread.import": "threadImport",
  "thread.import_to": "never",
  "thread.import_bundle": "never",
  "link.import": "never",
  "link.revoke": "never",
  "link.forget": "never",
  "link.rejoin": "never",
  "thread.interrupt": "stops",
  "thread.rename": "stops",
  "thread.set_modes": "starts",
  "thread.mark": "stops",
  "thread.undo": "starts",
  "thread.redo": "starts",
  "thread.delete": "stops",
  "thread.adopt": "never",
  "run.answer": "starts",
  "task.spawn": "spawn",
  "task.cancel": "stops",
  "task.dismiss": "never",
};

type StartingGrant = Extract<Grant, { kind: "threadImport" | "spawn" | "move" }>;

/**
 * Held in the step that decides, before anything else is looked at: what a link asks, by request or by a raw command, is
 * within its grants, and what it has started does nothing more once the link has ended. Whose thread it is, and which modes,
 * is for the plan to say.
 */
export function holdLinkFence(type: Command["type"], context: PlanContext): void {
  const { caller } = context;
  if (caller.kind === "thread") {
    const origin = needThread(context, caller.threadId).linkOrigin;
    if (origin !== null && liveLink(context, origin.linkId) === null)
      refuse("capability_denied", "link_ended", "the link that started the caller has ended", "Ask a person of this environment.");
    return;
  }
  if (caller.kind !== "link" || !(type in linkNeeds)) return;
  const need = linkNeeds[type as PublicCommand["type"]];
  const link = liveLink(context, caller.linkId);
  if (link === null) refuse("capability_denied", "link_ended", "there is no such link, or it has ended", "Its owner may pair it again.");
  if (need === "never")
    refuse("capability_denied", "not_for_links", `${type} is not for links`, "Ask a person of this environment to do it.");
  if (need === "stops") return;
  const kinds = need === "starts" ? ["threadImport", "spawn", "move"] : [need];
  if (!link.grants.some(({ kind }) => kinds.includes(kind)))
    refuse(
      "capability_denied",
      "not_granted",
      `the link has no grant ${kinds.join(" or ")}`,
      "The other side's owner can grant it on their link.",
    );
}

/** The grant by which a link's thread is here: as a subagent, as an import, or by a move. */
export function grantBehind(context: PlanContext, thread: Pick<AppThread, "linkOrigin" | "task" | "movedFrom">): StartingGrant | null {
  const link = thread.linkOrigin === null ? null : liveLink(context, thread.linkOrigin.linkId);
  const starting = link?.grants.filter((grant) => grant.kind !== "read") ?? [];
  const kind = thread.movedFrom !== undefined ? "move" : thread.task === null ? "threadImport" : "spawn";
  return starting.find((grant) => grant.kind === kind) ?? starting[0] ?? null;
}

/** A run more of what a link has started, asked by the link or by an agent of it: within its budget of threads at work. */
export function holdOpenBudget(context: PlanContext, thread: AppThread): void {
  const { caller } = context;
  const asksForItself = caller.kind === "link" || caller.kind === "thread";
  if (!asksForItself || thread.linkOrigin === null || thread.status !== "idle") return;
  const { linkId } = thread.linkOrigin;
  const most = grantBehind(context, thread)?.maxOpen;
  if (most === undefined) return;
  const atWork = context.overlay.actorsBy({ kind: "thread", statuses: ["running"] }).map(asThread);
  const open = atWork.filter(({ linkOrigin }) => linkOrigin?.linkId === linkId).length;
  if (open >= most)
    refuse(
      "invalid_request",
      "limit_exceeded",
      `${open} threads of the link are at work, its budget (maxOpen) is ${most}`,
      "Wait for some of them, or ask the other side's owner for more.",
    );
}

/** How deep subagents of what a link has started may be nested; null: as deep as any. */
export const depthBudget = (context: PlanContext, thread: Pick<AppThread, "linkOrigin">): number | null =>
  grantBehind(context, { linkOrigin: thread.linkOrigin, task: { taskId: "", environmentId: null } as never })?.maxDepth ?? null;
