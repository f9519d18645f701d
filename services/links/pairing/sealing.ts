import { createCipheriv, createDecipheriv, createHmac, hkdfSync, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";

/**
 * How two environments that share nothing but a code's secret speak. What they say is sealed with a key from that secret, so
 * that the broker's owner reads none of it; and each proves, by a key from the secret *and* from the X25519 agreement of
 * both public keys, that it holds the private key of the one that is to be pinned. A proof names who proves, both
 * environments, both keys, the invitation and what is said: nothing of it fits anywhere else.
 */
const cipher = "chacha20-poly1305";
const saltBytes = 32;
const tagBytes = 16;

export type Role = "joiner" | "inviter";
export type Parties = {
  invite: string;
  inviter: { environmentId: string; publicKey: string };
  joiner: { environmentId: string; publicKey: string };
};

/** `salt | ciphertext | tag`, under a key that is fresh for every sealing. */
export function sealPairing(secret: string, invite: string, from: Role, plain: string): Buffer {
  const salt = randomBytes(saltBytes);
  const { key, nonce, info } = derive(secret, salt, invite, from);
  const box = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  box.setAAD(info, { plaintextLength: Buffer.byteLength(plain) });
  const sealed = Buffer.concat([salt, box.update(plain, "utf8"), box.final()]);
  return Buffer.concat([sealed, box.getAuthTag()]);
}

/** The text, or null for what was not sealed with this secret, for this invitation, by this side. */
export function openPairing(secret: string, invite: string, from: Role, sealed: Uint8Array): string | null {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length < saltBytes + tagBytes) return null;
  const { key, nonce, info } = derive(secret, bytes.subarray(0, saltBytes), invite, from);
  const box = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  const ciphertext = bytes.subarray(saltBytes, bytes.length - tagBytes);
  box.setAAD(info, { plaintextLength: ciphertext.length });
  box.setAuthTag(bytes.subarray(bytes.length - tagBytes));
  try {
    return Buffer.concat([box.update(ciphertext), box.final()]).toString("utf8");
  } catch {
    return null;
  }
}

/** `shared`: the agreement of the two keys. `said`: what the proof is about. */
export function provePairing(shared: KeyObject, secret: string, by: Role, parties: Parties, said: readonly unknown[]): string {
  const key = Buffer.from(hkdfSync("sha256", shared, Buffer.from(secret, "base64url"), "ropewalk pairing proof 1", 32));
  const { invite, inviter, joiner } = parties;
  const sides = [inviter.environmentId, inviter.publicKey, joiner.environmentId, joiner.publicKey];
  return createHmac("sha256", key)
    .update(JSON.stringify([by, invite, ...sides, said]))
    .digest("base64url");
}

export function isProof(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function derive(secret: string, salt: Uint8Array, invite: string, from: Role): { key: Buffer; nonce: Buffer; info: Buffer } {
  const info = Buffer.from(JSON.stringify(["ropewalk pairing sealing 1", from, invite]));
  const material = Buffer.from(hkdfSync("sha256", Buffer.from(secret, "base64url"), salt, info, 44));
  return { key: material.subarray(0, 32), nonce: material.subarray(32), info };
}
