import type { EnvironmentId, LinkId } from "../../../schemas/ids.ts";
import type { LinkPosition, LinkPositions } from "../../../schemas/link.ts";
import { LinkBody } from "../../../schemas/wire.ts";
import { newLinkRow, sendAgain } from "../outbox.ts";
import type { Plan, PlanContext } from "../plan.ts";
import { digestOrigin } from "../ports/link-ledger.ts";
import type { LinkRow } from "../ports/store.ts";
import { asLink, asMove, linkFrom } from "../typed-actors.ts";

/** A configured link as an actor, made once; its direction belongs to this incarnation of the store. */
export const configureLink: Plan<"link.configure"> = (command, context) => {
  const link = linkFrom(context.overlay, command.linkId);
  if (link !== null && link.name !== command.name)
    context.uow.tell({ to: command.linkId, event: { type: "link.renamed", name: command.name } });
  if (link === null)
    context.uow.create(command.linkId, {
      type: "link.created",
      input: { id: command.linkId, name: command.name, peerEnvironmentId: command.peerEnvironmentId },
    });
  const row = context.overlay.link(command.linkId);
  const { incarnation } = context.overlay.store;
  if (row === null) context.overlay.putLink(newLinkRow(command.linkId, incarnation));
  else if (row.incarnation !== incarnation) beginEpoch(context, row);
  if (link === null) takeOver(context, command.linkId, command.peerEnvironmentId);
  if (link === null) askAboutMoves(context, command.peerEnvironmentId);
  return {};
};

/**
 * Paired again: what an earlier, revoked link to the same environment had not sent goes out on this one, in its order and
 * under its ids. The pinned key says that it is the same environment, and a person has paired them.
 */
function takeOver(context: PlanContext, linkId: LinkId, peer: EnvironmentId): void {
  if (context.settings.linkTo(peer)?.id !== linkId) return;
  for (const earlier of context.overlay.actorsBy({ kind: "link", peer }).map(asLink)) {
    const row = earlier.status === "revoked" ? context.overlay.link(earlier.id) : null;
    if (row === null) continue;
    for (const message of context.overlay.store.outbox(row.linkId, row.receipted, Number.MAX_SAFE_INTEGER))
      context.outbox.write(peer, LinkBody.parse(JSON.parse(message.body)));
    context.overlay.putLink({ ...row, receipted: row.sent });
    context.overlay.addReceipted(row.linkId, row.sent);
  }
}

/** One that was given up is back: it is asked what became of the threads that were on their way to it. */
function askAboutMoves(context: PlanContext, peer: EnvironmentId): void {
  if (!context.outbox.reaches(peer)) return;
  for (const move of context.overlay.actorsBy({ kind: "move", statuses: ["departing"] }).map(asMove))
    if (move.environmentId === peer && move.standIn != null) context.uow.tell({ to: move.id, event: { type: "move.abort_requested" } });
}

/**
 * This store was found to be a copy: its direction begins a new epoch, in which everything goes out again that the peer
 * has not confirmed. Where the peer holds more than the copy remembers, one of the two will say so (links.md, invariant 4).
 * A copy of a copy that the peer never heard of tells of the first: that is the one that the peer knows.
 */
function beginEpoch(context: PlanContext, row: LinkRow): void {
  const begun = sendAgain(context, row, row.sent.epoch + 1);
  const previous = row.previous ?? { incarnation: row.incarnation, sent: row.sent, received: row.received };
  context.overlay.putLink({ ...row, ...begun, incarnation: context.overlay.store.incarnation, previous });
}

export const linkTransportState: Plan<"link.state"> = (command, context) => {
  const link = linkFrom(context.overlay, command.linkId);
  if (link === null || link.status === "revoked" || link.status === "diverged") return {};
  const event =
    command.state === "lost"
      ? ({ type: "link.lost", error: command.error ?? "the broker is not reachable" } as const)
      : ({ type: command.state === "connecting" ? "link.connecting" : "link.connected" } as const);
  context.uow.tell({ to: link.id, event });
  return {};
};

/** The peer's store has everything of ours up to here: it is forgotten (links.md, invariant 2). */
export const linkReceipt: Plan<"link.receipt"> = (command, context) => {
  const row = context.overlay.link(command.linkId);
  if (row === null) return { outcome: "ok" };
  const { received } = command;
  if (received.epoch > row.sent.epoch || (received.epoch === row.sent.epoch && received.number > row.sent.number))
    return diverge(context, row, "the peer confirms more than was ever sent", positionsBehind(row, received));
  if (received.epoch < row.sent.epoch || received.number <= row.receipted.number) return { outcome: "ok" };
  const digest = digestAt(context, row, received.number);
  if (digest !== null && digest !== received.digest)
    return diverge(context, row, "the peer's record of what was sent differs", positionsBehind(row, received));
  context.overlay.putLink({ ...row, receipted: received });
  context.overlay.addReceipted(row.linkId, received);
  return { outcome: "ok" };
};

/** Our running digest at a number that is still in the outbox or is the newest; null where it was forgotten. */
function digestAt(context: PlanContext, row: LinkRow, number: number): string | null {
  if (number === row.sent.number) return row.sent.digest;
  const [message] = context.overlay.store.outbox(row.linkId, { epoch: row.sent.epoch, number: number - 1, digest: "" }, 1);
  return message?.number === number ? message.digest : null;
}

export const linkDiverged: Plan<"link.diverged"> = (command, context) => {
  const link = linkFrom(context.overlay, command.linkId);
  if (link === null || link.status === "revoked") return {};
  context.uow.tell({ to: link.id, event: { type: "link.diverged", reason: command.reason, ours: command.ours, theirs: command.theirs } });
  return {};
};

/** Marks the link as diverged, visible with both positions; nothing is applied on it from here on. */
export function diverge(context: PlanContext, row: LinkRow, reason: string, theirs: LinkPositions): { outcome: "diverged" } {
  const link = linkFrom(context.overlay, row.linkId);
  if (link !== null && link.status !== "diverged" && link.status !== "revoked")
    context.uow.tell({ to: link.id, event: { type: "link.diverged", reason, ours: positionsOf(row), theirs } });
  return { outcome: "diverged" };
}

function positionsOf({ incarnation, sent, received, receipted, peerIncarnation: peer, previous }: LinkRow): LinkPositions {
  return { incarnation, sent, received, receipted, peer, previous };
}

/** What a receipt tells of where the peer stands; the rest is as far as it is known here. */
function positionsBehind(row: LinkRow, received: LinkPosition): LinkPositions {
  const known = row.received ?? { epoch: 1, number: 0, digest: digestOrigin };
  return {
    incarnation: row.peerIncarnation ?? row.incarnation,
    sent: known,
    received,
    receipted: known,
    peer: row.incarnation,
    previous: null,
  };
}
