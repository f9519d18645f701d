import type { LinkId } from "../../schemas/ids.ts";
import type { Grant, LinkConfig } from "../../schemas/link.ts";
import type { InviteOffer, InviteRequest, InviteView, JoinRequest, JoinResult } from "../../schemas/pairing.ts";

/**
 * What a person does about links besides commands: it changes config.json, and takes effect at once. Every method throws
 * CommandRefused; nothing is half done then.
 */
export interface LinkDesk {
  /** A code by which one other environment is linked. */
  invite(request: InviteRequest): Promise<InviteOffer>;
  /** Newest last. */
  invites(): InviteView[];
  /** Takes up another environment's code. Safe to repeat. */
  join(request: JoinRequest): Promise<JoinResult>;
  rename(link: LinkId, name: string): Promise<LinkConfig>;
  /** What the peer may do here from now on. */
  grant(link: LinkId, grants: Grant[]): Promise<LinkConfig>;
}
