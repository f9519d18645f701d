import type { EnvironmentId, InviteId, LinkId } from "../../../schemas/ids.ts";
import { type PairingHello, pairingVersion } from "../../../schemas/pairing.ts";
import { type Refusal, refusal } from "../../../schemas/refusal.ts";
import type { Invite } from "./invites.ts";

export type Known = {
  self: EnvironmentId;
  now: number;
  /** What is pinned of the joiner's environment, where there is a link to it. */
  linked: { linkId: LinkId; publicKey: string; ended: boolean } | null;
  /** The joiner's own invitation, which this side is taking up at this moment. */
  crossing: InviteId | null;
};

export type Decision = { accept: true; linkId: LinkId; repeated: boolean } | { accept: false; refusal: Refusal };

/**
 * What an invitation is answered, once the joiner has shown that it has the code and its key (links.md, pairing):
 * 1. It works once: the same key gets the same answer again, for as long as it is remembered; another is refused.
 * 2. It expires by this side's clock alone; the joiner's is not asked.
 * 3. An environment is bound to the key that is pinned for it, also by a link that has ended. With that key there is one
 *    link, however often they pair; after it was ended they may pair again, and that is another link.
 * 4. Where both invite and both join at once, the lower invitation counts.
 */
export function decideJoin(invite: Invite, hello: PairingHello, known: Known): Decision {
  const { usedBy } = invite;
  if (hello.environmentId === known.self) return refuse("own_code", "this environment made the code itself", "Join on the other machine.");
  if (usedBy !== null) {
    if (usedBy.environmentId !== hello.environmentId || usedBy.publicKey !== hello.publicKey)
      return refuse("code_used", "another environment has joined with this code", "Ask for a new code, and who used this one.");
    if (known.linked?.ended === true) return refuse("code_used", "the link that this code made has been ended", "Ask for a new code.");
    return { accept: true, linkId: usedBy.linkId, repeated: true };
  }
  if (known.now >= invite.expiresAt) return refuse("code_expired", "the code is too old", "Ask for a new one: ropewalk link invite");
  const { linked, crossing } = known;
  if (linked !== null && linked.publicKey !== hello.publicKey)
    return refuse(
      "peer_key_differs",
      "the inviter knows this environment by another key",
      "If its keys were made anew on purpose, forget the old link there first: ropewalk link forget",
    );
  if (linked !== null && !linked.ended) return { accept: true, linkId: linked.linkId, repeated: false };
  if (crossing !== null && crossing < invite.id) return refuse("crossed", "both sides invited each other", "The other code counts.");
  return { accept: true, linkId: linkOf(invite.id), repeated: false };
}

/** Words of another version than this one's: nothing else of them is believed. */
export const wrongVersion = (version: unknown): Refusal =>
  refusal(
    "invalid_request",
    "wrong_version",
    `the joiner pairs by version ${String(version).slice(0, 20)}, the inviter by ${pairingVersion}`,
    "Update the older of the two environments, then make a new code.",
  );

/** One invitation, one link. */
export const linkOf = (invite: InviteId): LinkId => `link:${invite.slice("invite:".length)}` as LinkId;

const refuse = (reason: string, message: string, hint: string): Decision => ({
  accept: false,
  refusal: refusal("invalid_request", reason, message, hint),
});
