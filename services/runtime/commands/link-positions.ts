import type { LinkPosition, LinkPositions } from "../../../schemas/link.ts";
import type { Plan } from "../plan.ts";
import type { LinkRow } from "../ports/store.ts";
import { linkFrom } from "../typed-actors.ts";
import { diverge } from "./link-state.ts";

/**
 * The peer says where it stands (links.md, invariant 4). Stores that disagree say so: other digests at the same number, a
 * position of ours beyond what this store remembers, or, in answer to our challenge, one of theirs below what it was known
 * to have. Both sides look, so that both see it.
 */
export const peerPositions: Plan<"link.peer_positions"> = (command, context) => {
  const row = context.overlay.link(command.linkId);
  const link = linkFrom(context.overlay, command.linkId);
  if (row === null || link === null || link.status === "revoked") return { outcome: "ok" };
  if (link.status === "diverged") return { outcome: "diverged" };
  const { positions, known } = command;
  if (row.formerIncarnations.includes(positions.incarnation)) return { outcome: "ok" };
  const isNew = row.peerIncarnation !== null && row.peerIncarnation !== positions.incarnation;
  const theirs = isNew ? copyHoldsLess(row, positions) : (disagreement(row, positions) ?? (known === null ? null : lost(known, positions)));
  const reason = theirs ?? ownLoss(row, positions) ?? (known === null ? null : replaced(row, positions));
  if (reason !== null) return diverge(context, row, reason, positions);

  const former = isNew && row.peerIncarnation !== null ? [...row.formerIncarnations, row.peerIncarnation] : row.formerIncarnations;
  // Once the peer knows this incarnation, it needs not be told any more what the store was before.
  const previous = positions.peer === row.incarnation ? null : row.previous;
  if (row.peerIncarnation !== positions.incarnation || previous !== row.previous)
    context.overlay.putLink({ ...row, peerIncarnation: positions.incarnation, formerIncarnations: former, previous });
  return { outcome: "ok" };
};

const atSame = (a: LinkPosition, b: LinkPosition) => a.epoch === b.epoch && a.number === b.number;
const beyond = (a: LinkPosition, b: LinkPosition) => a.epoch > b.epoch || (a.epoch === b.epoch && a.number > b.number);

function disagreement(row: LinkRow, theirs: LinkPositions): string | null {
  if (theirs.received !== null && beyond(theirs.received, row.sent)) return "the peer has received more than this store remembers sending";
  if (theirs.received !== null && atSame(theirs.received, row.sent) && theirs.received.digest !== row.sent.digest)
    return "the peer has received something else than this store remembers sending";
  if (row.received !== null && atSame(row.received, theirs.sent) && row.received.digest !== theirs.sent.digest)
    return "this store has received something else than the peer remembers sending";
  return null;
}

/** Numbers that went back since we knew them for certain: the peer's store is older than it was. */
function lost(known: { receipted: LinkPosition; received: LinkPosition | null }, theirs: LinkPositions): string | null {
  if (known.receipted.number > 0 && (theirs.received === null || beyond(known.receipted, theirs.received)))
    return "the peer no longer has what it had confirmed";
  // At 0 nothing was received yet: the epoch is one that is only expected, after a rejoin.
  if (known.received !== null && known.received.number > 0 && beyond(known.received, theirs.sent))
    return "the peer no longer remembers sending what was received from it";
  return null;
}

/** The peer holds more than this store remembers: this one is older than it was. True however old the statement is. */
function ownLoss(row: LinkRow, theirs: LinkPositions): string | null {
  const { previous } = row;
  if (theirs.receipted.number > 0 && (row.received === null || beyond(theirs.receipted, row.received)))
    return "this store was restored from an older copy: it no longer has what it had confirmed to the peer";
  if (previous !== null && theirs.received?.epoch === previous.sent.epoch && beyond(theirs.received, previous.sent))
    return "this store was restored from an older copy: the peer has received more than it remembers sending";
  return null;
}

/** The peer knows another incarnation of this environment than this one and what it was before: a copy of it is at work. */
function replaced(row: LinkRow, theirs: LinkPositions): string | null {
  if (theirs.peer === null || theirs.peer === row.incarnation || theirs.peer === row.previous?.incarnation) return null;
  return "the peer knows another copy of this store as this environment";
}

/** A peer whose store is a copy of what we knew: what it remembers must be all that we have of it, and all that it confirmed. */
function copyHoldsLess(row: LinkRow, theirs: LinkPositions): string | null {
  const { previous } = theirs;
  if (previous === null || previous.incarnation !== row.peerIncarnation)
    return "the peer is another store than the one that this link knows";
  if (row.received !== null && beyond(row.received, previous.sent))
    return "the peer was restored from an older copy: it no longer remembers sending what was received from it";
  if (row.received !== null && atSame(row.received, previous.sent) && row.received.digest !== previous.sent.digest)
    return "the peer's copy remembers sending something else";
  if (row.receipted.number > 0 && (previous.received === null || beyond(row.receipted, previous.received)))
    return "the peer was restored from an older copy: it no longer has what it had confirmed";
  return null;
}
