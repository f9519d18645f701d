import { z } from "zod";
import { EnvironmentId, IncarnationId, LinkId } from "./ids.ts";
import { Modes } from "./modes.ts";
import { Digest, Text, Timestamp, Title } from "./text.ts";

const starting = {
  maxModes: Modes,
  /** Threads of the link that may be at work here at one time; without: any number. */
  maxOpen: z.number().int().positive().optional(),
  /** How deep subagents may be nested, counted from the root of their tree; without: as deep as any. */
  maxDepth: z.number().int().positive().optional(),
};

/** What a peer may do here: a closed set, each with its cap on modes and its budgets (links.md, grants). */
export const Grant = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("threadImport"), ...starting }),
  z.object({ kind: z.literal("spawn"), ...starting }),
  z.object({ kind: z.literal("read") }),
  z.object({ kind: z.literal("move"), ...starting }),
]);
export type Grant = z.infer<typeof Grant>;
export type GrantKind = Grant["kind"];

/** Raw X25519 public key, base64url. */
export const PublicKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** A NATS server that links talk over. */
export const LinkBroker = z.strictObject({ url: z.string().min(1), credentialsFile: z.string().min(1).optional() });
export type LinkBroker = z.infer<typeof LinkBroker>;

/** A link as configured on one side. Both sides carry the same link id. */
export const LinkConfig = z.strictObject({
  id: LinkId,
  name: Title.min(1),
  peer: z.strictObject({ environmentId: EnvironmentId, publicKey: PublicKey }),
  /** What the peer may do here. */
  grants: z.array(Grant),
  /** The server that this link talks over; without: the environment's. */
  nats: LinkBroker.optional(),
});
export type LinkConfig = z.infer<typeof LinkConfig>;

export const LinkStatus = z.enum(["offline", "connecting", "online", "diverged", "revoked"]);
export type LinkStatus = z.infer<typeof LinkStatus>;

/** Where one direction of a link stands. `digest` runs over every message of the epoch up to `number`. */
export const LinkPosition = z.object({ epoch: z.number().int().positive(), number: z.number().int().nonnegative(), digest: Digest });
export type LinkPosition = z.infer<typeof LinkPosition>;

/** What one side tells of where it stands: sent is its own direction, received the peer's. */
export const LinkPositions = z.object({
  incarnation: IncarnationId,
  sent: LinkPosition,
  received: LinkPosition.nullable(),
  /** How far it knows the other side's store to have its direction: a store that has less was set back. */
  receipted: LinkPosition,
  /** The incarnation of the other side that it knows: another one that reads this is a copy that is not known, or not any more. */
  peer: IncarnationId.nullable(),
  /** A store that was found to be a copy tells where it stood then: a peer that holds more marks the link as diverged. */
  previous: z.object({ incarnation: IncarnationId, sent: LinkPosition, received: LinkPosition.nullable() }).nullable(),
});
export type LinkPositions = z.infer<typeof LinkPositions>;

/** Messages of our direction that the peer's store never had. */
export const DroppedMessages = z.object({
  requests: z.number().int().nonnegative(),
  answers: z.number().int().nonnegative(),
  notices: z.number().int().nonnegative(),
});
export type DroppedMessages = z.infer<typeof DroppedMessages>;

/** How a person ended a link. `revoked`: not trusted any more; `forgotten`: the other side never comes back. */
export const LinkEnding = z.enum(["revoked", "forgotten"]);
export type LinkEnding = z.infer<typeof LinkEnding>;

/** Context of the link machine; positions and messages are in the store's link tables. */
export const LinkContext = z.object({
  id: LinkId,
  name: Title,
  peerEnvironmentId: EnvironmentId,
  since: Timestamp,
  lastSeenAt: Timestamp.nullable(),
  error: Text.nullable(),
  divergence: z.object({ reason: Text, ours: LinkPositions, theirs: LinkPositions }).nullable(),
  createdAt: Timestamp,
  /** By a person's word; absent and null before it. */
  ended: z.object({ how: LinkEnding, reason: Text, at: Timestamp, dropped: DroppedMessages }).nullable().optional(),
});
export type LinkContext = z.infer<typeof LinkContext>;
export const LinkInput = LinkContext.pick({ id: true, name: true, peerEnvironmentId: true });
export type LinkInput = z.infer<typeof LinkInput>;
export const Link = LinkContext.extend({ status: LinkStatus });
export type Link = z.infer<typeof Link>;
