import type { PairingCode } from "../../../schemas/pairing.ts";
import type { LinkChannel } from "../../runtime/ports/link-transport.ts";

/** Where an invitation is answered: all who have its code publish here. */
export const toInviter = ({ invite }: Pick<PairingCode, "invite">): LinkChannel => ({ linkId: invite, to: "inviter", from: "joiner" });

/** Where one joiner hears the inviter's word. */
export const toJoiner = ({ invite }: Pick<PairingCode, "invite">, environmentId: string): LinkChannel => ({
  linkId: invite,
  to: environmentId,
  from: "inviter",
});
