import { z } from "zod";
import { AccessKind } from "./access.ts";
import { ClientId } from "./ids.ts";
import { InteractionMode, Modes, RuntimeMode } from "./modes.ts";
import { Timestamp, Title } from "./text.ts";

/** What a person gives a program (contract §8): the modes that it may use and give at most, and what it may do at all. */
export const ClientGrant = z.strictObject({
  /** What the person calls it; without: what it calls itself. */
  name: Title.min(1).optional(),
  maxModes: Modes,
  access: z.array(AccessKind).min(1),
});
export type ClientGrant = z.infer<typeof ClientGrant>;

/** Asks for a code by which one program is let in; what is left out is as usual. */
export const PairingRequest = z.strictObject({
  name: Title.min(1).optional(),
  runtimeMode: RuntimeMode.optional(),
  interactionMode: InteractionMode.optional(),
  access: z.array(AccessKind).min(1).optional(),
});
export type PairingRequest = z.infer<typeof PairingRequest>;

/** The code, shown here and nowhere else, and what it gives. */
export const PairingOffer = z.object({
  /** To be typed on the page that the program opens. Good once. */
  code: z.string(),
  expiresAt: Timestamp,
  grant: ClientGrant,
  /** What the program is told: the API's address and the tools' (MCP). */
  url: z.string(),
  mcpUrl: z.string(),
});
export type PairingOffer = z.infer<typeof PairingOffer>;

/** What a token is good for: the tools, the API, or both. */
export const ClientResource = z.enum(["mcp", "v1"]);
export type ClientResource = z.infer<typeof ClientResource>;

/** A program that was let in, as the person who did it is shown it. Holds no secret. */
export const ClientView = z.object({
  id: ClientId,
  name: Title,
  /** What it calls itself; nobody has checked it. */
  program: z.string(),
  tokens: z.array(
    ClientGrant.omit({ name: true }).extend({
      resources: z.array(ClientResource),
      issuedAt: Timestamp,
      expiresAt: Timestamp,
      usedAt: Timestamp.nullable(),
    }),
  ),
});
export type ClientView = z.infer<typeof ClientView>;
