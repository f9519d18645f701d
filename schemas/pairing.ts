import { z } from "zod";
import { EnvironmentId, InviteId, LinkId } from "./ids.ts";
import { Grant, LinkBroker, PublicKey } from "./link.ts";
import { Refusal } from "./refusal.ts";
import { Text, Timestamp, Title } from "./text.ts";

/** Version of what two environments say to each other while they pair; a code names it. */
export const pairingVersion = 1;

/** 128 random bits, base64url. */
export const PairingSecret = z.string().regex(/^[A-Za-z0-9_-]{22}$/);

/** What a code holds. Whoever has it may join once, so it is a secret until it is used. */
export const PairingCode = z.strictObject({
  invite: InviteId,
  /** The inviter, whose key is pinned by whoever takes the code. */
  environmentId: EnvironmentId,
  publicKey: PublicKey,
  secret: PairingSecret,
  /** Where they meet; null: on the fabric that the program has brought along. */
  broker: z.strictObject({ url: z.string().min(1), credentials: Text.nullable() }).nullable(),
});
export type PairingCode = z.infer<typeof PairingCode>;

/** The joiner's word, sealed with the code's secret. The proof needs the secret and the private key of `publicKey`. */
export const PairingHello = z.object({
  v: z.number().int().positive(),
  environmentId: EnvironmentId,
  name: Title,
  publicKey: PublicKey,
  proof: z.string().min(1).max(128),
});
export type PairingHello = z.infer<typeof PairingHello>;

/** The inviter's word, sealed likewise. `proof` shows that it comes from the key that the code named. */
export const PairingAnswer = z.discriminatedUnion("ok", [
  z.object({ ok: z.literal(true), linkId: LinkId, name: Title, proof: z.string().min(1).max(128) }),
  z.object({ ok: z.literal(false), refusal: Refusal, proof: z.string().min(1).max(128) }),
]);
export type PairingAnswer = z.infer<typeof PairingAnswer>;

/** Asks for a code. `grants`: what whoever joins may do here. */
export const InviteRequest = z.strictObject({
  /** What to call the peer; without: what it calls itself. */
  name: Title.min(1).optional(),
  grants: z.array(Grant).max(20),
  /** Without: the environment's own server. */
  broker: LinkBroker.optional(),
  /** The server to use where the environment has none. */
  brokerIfNone: LinkBroker.optional(),
  /** Content of a NATS credentials file that the joiner is to use. */
  peerCredentials: Text.min(1).max(16_384).optional(),
  /** Milliseconds, by this environment's clock. */
  validForMs: z
    .number()
    .int()
    .positive()
    .max(7 * 86_400_000)
    .optional(),
});
export type InviteRequest = z.infer<typeof InviteRequest>;

export const InviteOffer = z.object({
  inviteId: InviteId,
  linkId: LinkId,
  code: z.string(),
  expiresAt: Timestamp,
  grants: z.array(Grant),
  /** Null on a fabric of the program's own. */
  brokerUrl: z.string().nullable(),
  /** The address leads nowhere but to this machine. */
  onThisMachineOnly: z.boolean(),
});
export type InviteOffer = z.infer<typeof InviteOffer>;

/** Takes a code. `grants`: what the inviter may do here. */
export const JoinRequest = z.strictObject({
  code: z.string().min(1).max(65_536),
  name: Title.min(1).optional(),
  grants: z.array(Grant).max(20),
  /** How long to wait for the inviter's word; it may sleep. Milliseconds. */
  waitMs: z.number().int().positive().max(600_000).optional(),
});
export type JoinRequest = z.infer<typeof JoinRequest>;

export const JoinResult = z.object({
  linkId: LinkId,
  name: Title,
  environmentId: EnvironmentId,
  /** The same on both sides, for people to compare. */
  fingerprint: z.string(),
  /** False when there was a link to this environment already. */
  created: z.boolean(),
});
export type JoinResult = z.infer<typeof JoinResult>;

/** An invitation as the person who made it sees it; holds no secret. */
export const InviteView = z.object({
  inviteId: InviteId,
  linkId: LinkId,
  name: Title.nullable(),
  grants: z.array(Grant),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  state: z.enum(["open", "used", "expired"]),
  usedBy: z.object({ environmentId: EnvironmentId, at: Timestamp, fingerprint: z.string() }).nullable(),
});
export type InviteView = z.infer<typeof InviteView>;
