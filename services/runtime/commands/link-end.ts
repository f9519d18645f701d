import type { EnvironmentId, LinkId, TaskId, ThreadId } from "../../../schemas/ids.ts";
import type { DroppedMessages } from "../../../schemas/link.ts";
import { refusal } from "../../../schemas/refusal.ts";
import { needLink } from "../access.ts";
import type { Plan, PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { asMove, asTask, asThread, openMoveStatuses, openTaskStatuses, threadFrom } from "../typed-actors.ts";
import { makeStandIn } from "./thread-fork.ts";
import { cancelTasksOf, interruptRuns } from "./thread-interrupt.ts";

/**
 * A person takes the link back: what it runs here is stopped, nothing of either direction is applied or sent any more, and
 * what this side has asked stays open, as unknown. It goes on under its ids when the two are paired again.
 */
export const revokeLink: Plan<"link.revoke"> = (command, context) => {
  const link = personsLink(context, command.linkId);
  if (link.status === "revoked") refuse("invalid_request", "link_ended", `${link.name} has ended already`, "See: ropewalk link show");
  const reason = command.reason ?? "revoked by a person";
  const stopped = stopWhatItRuns(context, link.id, reason);
  const dropped = unsent(context, link.id);
  context.uow.tell({ to: link.id, event: { type: "link.revoked", reason, dropped } });
  return { linkId: link.id, stopped, unsent: dropped.requests + dropped.answers + dropped.notices };
};

/**
 * A person's word that the other side never comes back (contract §6): all that waits for it ends, marked so. Tasks that ran
 * there are dismissed, requests are answered with a refusal, and what was not sent is dropped, with a record in the journal.
 */
export const forgetLink: Plan<"link.forget"> = (command, context) => {
  const link = personsLink(context, command.linkId);
  if (link.ended?.how === "forgotten")
    refuse("invalid_request", "link_ended", `${link.name} is forgotten already`, "See: ropewalk link show");
  const reason = command.reason ?? "it never comes back";
  const stopped = link.status === "revoked" ? [] : stopWhatItRuns(context, link.id, reason);
  const dropped = unsent(context, link.id);
  // First the link, so that nothing of what ends here is written for it.
  context.uow.tell({ to: link.id, event: { type: "link.forgotten", reason, dropped } });
  const row = context.overlay.link(link.id);
  if (row !== null) {
    context.overlay.putLink({ ...row, receipted: row.sent });
    context.overlay.addReceipted(link.id, row.sent);
  }
  const dismissed = dismissTasks(context, link.peerEnvironmentId, `${link.name} was given up: ${reason}`);
  const given = giveUpRequests(context, link.peerEnvironmentId, `${link.name} was given up by a person: ${reason}`);
  const newThreads = overrideMoves(context, link.peerEnvironmentId, `${link.name} was given up by a person: ${reason}`);
  return { linkId: link.id, stopped, dismissedTasks: dismissed, givenUpRequests: given, dropped, newThreads };
};

function personsLink(context: PlanContext, id: LinkId) {
  if (context.caller.kind !== "user")
    refuse("capability_denied", "person_only", "only a person can end a link", "Ask the person of this environment.");
  return needLink(context, id);
}

/** Threads with runs are few, however many a link has made. */
function stopWhatItRuns(context: PlanContext, linkId: LinkId, reason: string): ThreadId[] {
  const stopped: ThreadId[] = [];
  for (const thread of context.overlay.actorsBy({ kind: "thread", statuses: ["running"] }).map(asThread)) {
    if (thread.linkOrigin?.linkId !== linkId) continue;
    cancelTasksOf(context, thread.id, reason, null);
    interruptRuns(context, thread.id, reason);
    stopped.push(thread.id);
  }
  return stopped;
}

function dismissTasks(context: PlanContext, peer: EnvironmentId, reason: string): TaskId[] {
  const waiting = context.overlay
    .actorsBy({ kind: "task", statuses: openTaskStatuses })
    .map(asTask)
    .filter((task) => task.childEnvironmentId === peer);
  for (const { id } of waiting) context.uow.tell({ to: id, event: { type: "task.dismissed", reason } });
  return waiting.map(({ id }) => id);
}

/**
 * Threads on their way there: what has not departed stays. Of what has, nobody knows whether it lives there; a person goes on
 * with a new thread, and the old one takes no turns unless the peer says some day that it never came.
 */
function overrideMoves(context: PlanContext, peer: EnvironmentId, message: string): ThreadId[] {
  const made: ThreadId[] = [];
  for (const move of context.overlay.actorsBy({ kind: "move", statuses: openMoveStatuses }).map(asMove)) {
    if (move.environmentId !== peer) continue;
    const thread = threadFrom(context.overlay, move.threadId);
    if (move.status === "pending") {
      const error = refusal("orchestration_error", "peer_gone", message, "Move it to another environment.");
      context.uow.tell({ to: move.id, event: { type: "move.cancelled", error } });
    } else if (thread !== null && move.standIn == null) {
      const standIn = makeStandIn(context, thread, { environmentId: peer, moveId: move.id });
      if (standIn === null) continue;
      context.uow.tell({ to: move.id, event: { type: "move.overridden", standIn } });
      made.push(standIn);
    }
  }
  return made;
}

function giveUpRequests(context: PlanContext, peer: EnvironmentId, message: string): number {
  // A thread that was on its way may live there: that it does not is never taken from a person's word (contract §6).
  const open = context.overlay.store.openRequests(peer).filter(({ kind }) => kind !== "thread.move" && kind !== "move.abort");
  const answer = { ok: false as const, refusal: refusal("orchestration_error", "peer_gone", message, "Ask another environment.") };
  for (const request of open) context.overlay.putOutgoingRequest({ ...request, answer });
  return open.length;
}

/** What waits in the outbox, by kind. */
function unsent(context: PlanContext, linkId: LinkId): DroppedMessages {
  const dropped: DroppedMessages = { requests: 0, answers: 0, notices: 0 };
  const row = context.overlay.link(linkId);
  if (row === null) return dropped;
  for (const { kind } of context.overlay.store.outbox(linkId, row.receipted, Number.MAX_SAFE_INTEGER)) dropped[`${kind}s`] += 1;
  return dropped;
}
