import { needLink } from "../access.ts";
import { sendAgain } from "../outbox.ts";
import type { Plan } from "../plan.ts";
import { digestOrigin } from "../ports/link-ledger.ts";
import { refuse } from "../refused.ts";

/**
 * A person ends a divergence (links.md, invariant 4). What the two stores disagree about is left as it is; both directions
 * begin anew. Each side moves to an epoch above all that either has stated, which both reckon from the same statements: so
 * nothing of an earlier epoch is ever applied on top of this, and nothing that has no receipt is left behind.
 */
export const rejoinLink: Plan<"link.rejoin"> = (command, context) => {
  if (context.caller.kind !== "user")
    refuse("capability_denied", "person_only", "only a person can end a divergence", "Ask the person of this environment.");
  const link = needLink(context, command.linkId);
  const row = context.overlay.link(link.id);
  if (link.status !== "diverged" || link.divergence === null || row === null)
    refuse("invalid_request", "not_diverged", `${link.name} is ${link.status}: there is nothing to end`, "See: ropewalk link show");
  const { ours, theirs } = link.divergence;
  const again = context.overlay.store.outbox(row.linkId, row.receipted, Number.MAX_SAFE_INTEGER).length;
  const begun = sendAgain(context, row, Math.max(row.sent.epoch, ours.sent.epoch, theirs.received?.epoch ?? 0) + 1);
  // Their next epoch, as they reckon it: nothing below it is taken any more.
  const epoch = Math.max(row.received?.epoch ?? 0, theirs.sent.epoch) + 1;
  const isOther = row.peerIncarnation !== null && row.peerIncarnation !== theirs.incarnation;
  const formerIncarnations =
    isOther && row.peerIncarnation !== null ? [...row.formerIncarnations, row.peerIncarnation] : row.formerIncarnations;
  context.overlay.putLink({
    ...row,
    ...begun,
    received: { epoch, number: 0, digest: digestOrigin },
    peerIncarnation: theirs.incarnation,
    formerIncarnations: formerIncarnations.filter((one) => one !== theirs.incarnation),
    previous: null,
  });
  context.uow.tell({ to: link.id, event: { type: "link.rejoined" } });
  return { linkId: link.id, again, open: context.overlay.store.openRequests(link.peerEnvironmentId).map(({ requestId }) => requestId) };
};
