import type { LinkPosition, LinkPositions } from "../../../schemas/link.ts";
import type { LinkRow } from "../ports/store.ts";
import { newLinkRow } from "../outbox.ts";
import type { Plan, PlanContext } from "../plan.ts";
import { linkFrom } from "../typed-actors.ts";

/** A configured link as an actor; made once. A new incarnation of this store begins a new epoch of its own direction. */
export const configureLink: Plan<"link.configure"> = (command, context) => {
  if (linkFrom(context.overlay, command.linkId) === null)
    context.uow.create(command.linkId, {
      type: "link.created",
      input: { id: command.linkId, name: command.name, peerEnvironmentId: command.peerEnvironmentId },
    });
  if (context.overlay.link(command.linkId) === null) context.overlay.putLink(newLinkRow(command.linkId));
  return {};
};

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
    return diverge(context, row, "the peer confirms more than was ever sent", received);
  if (received.epoch < row.sent.epoch || received.number <= row.receipted.number) return { outcome: "ok" };
  const digest = digestAt(context, row, received.number);
  if (digest !== null && digest !== received.digest) return diverge(context, row, "the peer's record of what was sent differs", received);
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
export function diverge(context: PlanContext, row: LinkRow, reason: string, theirs: LinkPosition | LinkPositions): { outcome: "diverged" } {
  const ours: LinkPositions = { incarnation: context.overlay.store.incarnation, sent: row.sent, received: row.received };
  const peer: LinkPositions =
    "incarnation" in theirs
      ? theirs
      : { incarnation: row.peerIncarnation ?? context.overlay.store.incarnation, sent: row.received ?? theirs, received: theirs };
  const link = linkFrom(context.overlay, row.linkId);
  if (link !== null && link.status !== "diverged" && link.status !== "revoked")
    context.uow.tell({ to: link.id, event: { type: "link.diverged", reason, ours, theirs: peer } });
  return { outcome: "diverged" };
}
