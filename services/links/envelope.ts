import { createCipheriv, createDecipheriv, hkdfSync, type KeyObject, randomBytes } from "node:crypto";
import type { z } from "zod";
import { EnvelopeHead } from "../../schemas/wire.ts";
import { type EnvironmentKeys, keyIdOf } from "./keys.ts";

/**
 * A sealed message:
 *
 *     head length (uint32, big endian) | head (canonical JSON) | salt (32 bytes) | ciphertext | tag (16 bytes)
 *
 * Key and nonce come from HKDF-SHA256 over the X25519 secret of the two pinned keys, under a salt that is fresh for every
 * sealing; never from a message number, which a restored store uses twice (links.md, invariant 8). The head is
 * authenticated data. Only the two holders of the pinned keys can make a tag that fits, and the derivation names who is
 * sender and who recipient, so nothing can be sent back as the other's.
 */
const sealing = "ropewalk link sealing 1";
const saltBytes = 32;
const tagBytes = 16;
const maxHeadBytes = 4096;
const cipher = "chacha20-poly1305";

/** What the caller says of a message; the rest of the head follows from the link. */
export type OutgoingHead = Pick<
  EnvelopeHead,
  "incarnation" | "commit" | "epoch" | "number" | "kind" | "requestId" | "sentAt" | "carries" | "trace"
>;

/** What can be read of an authentic head whatever its version: enough to give the message its place, and a request its answer. */
const PlacedHead = EnvelopeHead.pick({ incarnation: true, commit: true, epoch: true, number: true }).extend({
  requestId: EnvelopeHead.shape.requestId.catch(null),
  carries: EnvelopeHead.shape.carries.catch("body"),
});
export type PlacedHead = z.infer<typeof PlacedHead>;

export type Opened =
  | { ok: true; usable: true; head: EnvelopeHead; body: Buffer }
  /** From the peer, for us, but in words of a version that is not known here. */
  | { ok: true; usable: false; head: PlacedHead; body: Buffer }
  /** `not_authentic`: not made with the pinned keys for this link and direction. `unplaced`: authentic, without a number that can be read. */
  | { ok: false; reason: "not_authentic" | "unplaced" };

export interface LinkSeal {
  seal(head: OutgoingHead, body: Uint8Array): Buffer;
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

  return {
    seal(head, body) {
      // Keys in alphabetical order: canonical JSON by construction.
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
      const headBytes = Buffer.from(JSON.stringify(canonical));
      if (headBytes.length > maxHeadBytes) throw new RangeError(`an envelope's head of ${headBytes.length} bytes`);
      const salt = randomBytes(saltBytes);
      const { key, nonce } = derive(secret, salt, outgoing);
      const box = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
      box.setAAD(headBytes, { plaintextLength: body.length });
      const length = Buffer.allocUnsafe(4);
      length.writeUInt32BE(headBytes.length);
      const ciphertext = box.update(body);
      box.final();
      return Buffer.concat([length, headBytes, salt, ciphertext, box.getAuthTag()]);
    },

    open(bytes) {
      const parts = split(bytes);
      if (parts === null) return { ok: false, reason: "not_authentic" };
      const head = asObject(parts.head);
      const pinned =
        head !== null &&
        head.linkId === linkId &&
        head.from === peer.environmentId &&
        head.to === self.environmentId &&
        head.senderKey === theirs &&
        head.recipientKey === ours;
      if (!pinned) return { ok: false, reason: "not_authentic" };
      const body = decrypt(secret, parts, incoming);
      if (body === null) return { ok: false, reason: "not_authentic" };
      const known = EnvelopeHead.safeParse(head);
      if (known.success) return { ok: true, usable: true, head: known.data, body };
      const placed = PlacedHead.safeParse(head);
      return placed.success ? { ok: true, usable: false, head: placed.data, body } : { ok: false, reason: "unplaced" };
    },
  };
}

function context(linkId: string, from: string, to: string, senderKey: string, recipientKey: string): Buffer {
  return Buffer.from(JSON.stringify([sealing, linkId, from, to, senderKey, recipientKey]));
}

function derive(secret: KeyObject, salt: Uint8Array, info: Buffer): { key: Buffer; nonce: Buffer } {
  const material = Buffer.from(hkdfSync("sha256", secret, salt, info, 44));
  return { key: material.subarray(0, 32), nonce: material.subarray(32) };
}

type Parts = { head: Buffer; salt: Buffer; ciphertext: Buffer; tag: Buffer };

function split(bytes: Uint8Array): Parts | null {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (all.length < 4) return null;
  const headLength = all.readUInt32BE(0);
  if (headLength > maxHeadBytes || all.length < 4 + headLength + saltBytes + tagBytes) return null;
  const salt = 4 + headLength;
  return {
    head: all.subarray(4, salt),
    salt: all.subarray(salt, salt + saltBytes),
    ciphertext: all.subarray(salt + saltBytes, all.length - tagBytes),
    tag: all.subarray(all.length - tagBytes),
  };
}

function asObject(bytes: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function decrypt(secret: KeyObject, parts: Parts, info: Buffer): Buffer | null {
  const { key, nonce } = derive(secret, parts.salt, info);
  const box = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  box.setAAD(parts.head, { plaintextLength: parts.ciphertext.length });
  box.setAuthTag(parts.tag);
  const body = box.update(parts.ciphertext);
  try {
    box.final();
    return body;
  } catch {
    return null;
  }
}
