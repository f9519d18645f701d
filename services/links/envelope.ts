import { createCipheriv, createDecipheriv, hkdfSync, type KeyObject, randomBytes } from "node:crypto";
import type { z } from "zod";
import { EnvelopeHead } from "../../schemas/wire.ts";
import { type EnvironmentKeys, keyIdOf } from "./keys.ts";

/**
 * What one publish carries: messages that wait together are sealed together.
 *
 *     length of heads (uint32, big endian) | heads (canonical JSON, an array) | salt (32 bytes) | ciphertext | tag (16 bytes)
 *
 * The plain text is, for every head, its body after the body's length (uint32, big endian). Key and nonce come from
 * HKDF-SHA256 over the X25519 secret of the two pinned keys, under a salt that is fresh for every sealing; never from a
 * message number, which a restored store uses twice (links.md, invariant 8). The heads are authenticated data. Only the
 * two holders of the pinned keys can make a tag that fits, and the derivation names link, sender, recipient and both
 * keys, so nothing can be sent back as the other's or over another link. Nothing is parsed before the tag was checked.
 */
const sealing = "ropewalk link sealing 1";
const saltBytes = 32;
const tagBytes = 16;
const cipher = "chacha20-poly1305";
const maxHeadBytes = 4096;
/** Messages of one sealing. */
export const maxSealedTogether = 128;

/** What the caller says of a message; the rest of the head follows from the link. */
export type OutgoingHead = Pick<
  EnvelopeHead,
  "incarnation" | "commit" | "epoch" | "number" | "kind" | "requestId" | "sentAt" | "carries" | "trace"
>;
export type OutgoingEnvelope = { head: OutgoingHead; body: Uint8Array };

/** What can be read of an authentic head whatever its version: enough to give the message its place, and a request its answer. */
const PlacedHead = EnvelopeHead.pick({ incarnation: true, commit: true, epoch: true, number: true }).extend({
  requestId: EnvelopeHead.shape.requestId.catch(null),
  carries: EnvelopeHead.shape.carries.catch("body"),
});
type PlacedHead = z.infer<typeof PlacedHead>;

export type OpenedMessage =
  | { usable: true; head: EnvelopeHead; body: Buffer }
  /** From the peer, for us, but in words of a version that is not known here. */
  | { usable: false; head: PlacedHead; body: Buffer };

type Opened =
  /** `unplaced`: how many more there were, authentic too, whose number could not be read. */
  | { ok: true; messages: OpenedMessage[]; unplaced: number }
  /** Not made with the pinned keys, for this link and in this direction; or damaged. */
  | { ok: false; reason: "not_authentic" };

export interface LinkSeal {
  /** One to {@link maxSealedTogether} messages. */
  seal(messages: readonly OutgoingEnvelope[]): Buffer;
  open(bytes: Uint8Array): Opened;
}

/** Seals for and opens from one peer over one link. Throws when `peer.publicKey` is no key. */
export function createLinkSeal(link: {
  linkId: string;
  self: { environmentId: string; keys: EnvironmentKeys };
  peer: { environmentId: string; publicKey: string };
}): LinkSeal {
  const { linkId, self, peer } = link;
  const secret = self.keys.agree(peer.publicKey);
  const ours = self.keys.keyId;
  const theirs = keyIdOf(peer.publicKey);
  const outgoing = context(linkId, self.environmentId, peer.environmentId, ours, theirs);
  const incoming = context(linkId, peer.environmentId, self.environmentId, theirs, ours);

  /** Keys in alphabetical order: canonical JSON by construction. */
  function headJson(head: OutgoingHead): string {
    const canonical: Record<keyof EnvelopeHead, unknown> = {
      carries: head.carries,
      commit: head.commit,
      epoch: head.epoch,
      from: self.environmentId,
      incarnation: head.incarnation,
      kind: head.kind,
      linkId,
      number: head.number,
      recipientKey: theirs,
      requestId: head.requestId,
      senderKey: ours,
      sentAt: head.sentAt,
      to: peer.environmentId,
      trace: head.trace,
      v: 1,
    };
    return JSON.stringify(canonical);
  }

  function isPinned(head: unknown): head is Record<string, unknown> {
    if (typeof head !== "object" || head === null) return false;
    const { linkId: link, from, to, senderKey, recipientKey } = head as Record<string, unknown>;
    const sides = from === peer.environmentId && to === self.environmentId;
    return link === linkId && sides && senderKey === theirs && recipientKey === ours;
  }

  return {
    seal(messages) {
      if (messages.length === 0 || messages.length > maxSealedTogether) throw new RangeError(`${messages.length} messages in one sealing`);
      const heads = Buffer.from(`[${messages.map(({ head }) => headJson(head)).join(",")}]`);
      if (heads.length > maxHeadBytes * messages.length) throw new RangeError(`heads of ${heads.length} bytes`);
      return encrypt(secret, heads, joinBodies(messages), outgoing);
    },

    open(bytes) {
      const parts = split(bytes);
      const plain = parts === null ? null : decrypt(secret, parts, incoming);
      if (parts === null || plain === null) return { ok: false, reason: "not_authentic" };
      const heads = asArray(parts.heads);
      const bodies = splitBodies(plain);
      if (heads === null || bodies === null || heads.length !== bodies.length) return { ok: false, reason: "not_authentic" };
      const messages: OpenedMessage[] = [];
      let unplaced = 0;
      for (const [index, head] of heads.entries()) {
        const body = bodies[index];
        // The derivation says it already; a head that says otherwise is not one of ours.
        if (body === undefined || !isPinned(head)) return { ok: false, reason: "not_authentic" };
        const message = readHead(head, body);
        if (message === null) unplaced += 1;
        else messages.push(message);
      }
      return { ok: true, messages, unplaced };
    },
  };
}

function readHead(head: Record<string, unknown>, body: Buffer): OpenedMessage | null {
  const known = EnvelopeHead.safeParse(head);
  if (known.success) return { usable: true, head: known.data, body };
  const placed = PlacedHead.safeParse(head);
  return placed.success ? { usable: false, head: placed.data, body } : null;
}

function context(linkId: string, from: string, to: string, senderKey: string, recipientKey: string): Buffer {
  return Buffer.from(JSON.stringify([sealing, linkId, from, to, senderKey, recipientKey]));
}

function derive(secret: KeyObject, salt: Uint8Array, info: Buffer): { key: Buffer; nonce: Buffer } {
  const material = Buffer.from(hkdfSync("sha256", secret, salt, info, 44));
  return { key: material.subarray(0, 32), nonce: material.subarray(32) };
}

function encrypt(secret: KeyObject, heads: Buffer, plain: Buffer, info: Buffer): Buffer {
  const salt = randomBytes(saltBytes);
  const { key, nonce } = derive(secret, salt, info);
  const box = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  box.setAAD(heads, { plaintextLength: plain.length });
  const ciphertext = box.update(plain);
  box.final();
  return Buffer.concat([uint32(heads.length), heads, salt, ciphertext, box.getAuthTag()]);
}

type Parts = { heads: Buffer; salt: Buffer; ciphertext: Buffer; tag: Buffer };

function split(bytes: Uint8Array): Parts | null {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (all.length < 4) return null;
  const headLength = all.readUInt32BE(0);
  if (headLength > maxHeadBytes * maxSealedTogether || all.length < 4 + headLength + saltBytes + tagBytes) return null;
  const salt = 4 + headLength;
  return {
    heads: all.subarray(4, salt),
    salt: all.subarray(salt, salt + saltBytes),
    ciphertext: all.subarray(salt + saltBytes, all.length - tagBytes),
    tag: all.subarray(all.length - tagBytes),
  };
}

function decrypt(secret: KeyObject, parts: Parts, info: Buffer): Buffer | null {
  const { key, nonce } = derive(secret, parts.salt, info);
  const box = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  box.setAAD(parts.heads, { plaintextLength: parts.ciphertext.length });
  box.setAuthTag(parts.tag);
  const plain = box.update(parts.ciphertext);
  try {
    box.final();
    return plain;
  } catch {
    return null;
  }
}

function joinBodies(messages: readonly OutgoingEnvelope[]): Buffer {
  return Buffer.concat(messages.flatMap(({ body }) => [uint32(body.length), body]));
}

function splitBodies(plain: Buffer): Buffer[] | null {
  const bodies: Buffer[] = [];
  for (let at = 0; at < plain.length; ) {
    if (at + 4 > plain.length) return null;
    const end = at + 4 + plain.readUInt32BE(at);
    if (end > plain.length) return null;
    bodies.push(plain.subarray(at + 4, end));
    at = end;
  }
  return bodies;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function asArray(bytes: Buffer): unknown[] | null {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return Array.isArray(value) && value.length <= maxSealedTogether ? value : null;
  } catch {
    return null;
  }
}
