import { z } from "zod";
import { DroppedMessages, LinkInput, LinkPositions } from "../link.ts";
import { Text, Title } from "../text.ts";
import { stamp } from "./common.ts";

export const LinkCreated = z.object({ type: z.literal("link.created"), input: LinkInput, ...stamp });
export const LinkEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("link.connecting"), ...stamp }),
  /** The broker answers and the peer's positions were exchanged. */
  z.object({ type: z.literal("link.connected"), ...stamp }),
  z.object({ type: z.literal("link.lost"), error: Text, ...stamp }),
  /** The two stores disagree: nothing is applied until a person ends it. */
  z.object({ type: z.literal("link.diverged"), reason: Text, ours: LinkPositions, theirs: LinkPositions, ...stamp }),
  z.object({ type: z.literal("link.rejoined"), ...stamp }),
  z.object({ type: z.literal("link.renamed"), name: Title, ...stamp }),
  z.object({ type: z.literal("link.revoked"), reason: Text.optional(), dropped: DroppedMessages.optional(), ...stamp }),
  /** A person's word that the peer never comes back. */
  z.object({ type: z.literal("link.forgotten"), reason: Text, dropped: DroppedMessages, ...stamp }),
]);
export type LinkCreated = z.infer<typeof LinkCreated>;
export type LinkEvent = z.infer<typeof LinkEvent>;
