import type { LinkPosition, LinkPositions } from "../../../schemas/link.ts";
import type { Plan } from "../plan.ts";
import type { LinkRow } from "../ports/store.ts";
import { linkFrom } from "../typed-actors.ts";
import { diverge } from "./link-state.ts";

/**
 * The peer says where it stands (links.md, invariant 4). Stores that disagree say so: other digests at the same number, a
 * received position beyond what was sent, or, in answer to our challenge, a number below what it was known to have.
 */
export const peerPositions: Plan<"link.peer_positions"> = (command, context) => {
  const row = context.overlay.link(command.linkId);
  const link = linkFrom(context.overlay, command.linkId);
  if (row === null || link === null || link.status === "revoked") return { outcome: "ok" };
  if (link.status === "diverged") return { outcome: "diverged" };
  const { positions, known } = command;
  if (row.formerIncarnations.includes(positions.incarnation)) return { outcome: "ok" };
  const isNew = row.peerIncarnation !== null && row.peerIncarnation !== positions.incarnation;
  const reason = isNew ? copyHoldsLess(row, positions) : (disagreement(row, positions) ?? (known === null ? null : lost(known, positions)));
  if (reason !== null) return diverge(context, row, reason, positions);
  if (row.peerIncarnation !== positions.incarnation) {
    const former = row.peerIncarnation === null ? row.formerIncarnations : [...row.formerIncarnations, row.peerIncarnation];
    context.overlay.putLink({ ...row, peerIncarnation: positions.incarnation, formerIncarnations: former });
  }
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
  if (known.received !== null && beyond(known.received, theirs.sent))
    return "the peer no longer remembers sending what was received from it";
  return null;
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
