import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/** Sealing of bytes that travel beside a message. The key is random for every sealing, so a fixed nonce is used once with it. */
const cipher = "chacha20-poly1305";
const nonce = Buffer.alloc(12);
const tagBytes = 16;
const sliceBytes = 1024 * 1024;

/** `digest`: SHA-256 hex of the plain bytes. */
export type SealedBlob = { sealed: Uint8Array; key: string; digest: string };

/** Seals `plain` under a fresh key; `name` is authenticated with it. Works in slices, so that nothing else has to wait for it. */
export async function sealBlob(plain: Uint8Array, name: string): Promise<SealedBlob> {
  const key = randomBytes(32);
  const box = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  box.setAAD(Buffer.from(name), { plaintextLength: plain.length });
  const sealed = Buffer.allocUnsafe(plain.length + tagBytes);
  const seen = createHash("sha256");
  let at = 0;
  for await (const slice of slices(plain)) {
    seen.update(slice);
    at += box.update(slice).copy(sealed, at);
  }
  box.final();
  box.getAuthTag().copy(sealed, at);
  return { sealed, key: key.toString("base64url"), digest: seen.digest("hex") };
}

/** The plain bytes, or null when they are not the ones that `digest` (SHA-256 hex) names: damaged, of another put, or forged. */
export async function openBlob(sealed: Uint8Array, name: string, key: string, digest: string): Promise<Buffer | null> {
  const secret = Buffer.from(key, "base64url");
  if (secret.length !== 32 || sealed.length < tagBytes) return null;
  const box = createDecipheriv(cipher, secret, nonce, { authTagLength: tagBytes });
  const length = sealed.length - tagBytes;
  box.setAAD(Buffer.from(name), { plaintextLength: length });
  box.setAuthTag(sealed.subarray(length));
  const plain = Buffer.allocUnsafe(length);
  const seen = createHash("sha256");
  let at = 0;
  for await (const slice of slices(sealed.subarray(0, length))) {
    const opened = box.update(slice);
    seen.update(opened);
    at += opened.copy(plain, at);
  }
  try {
    box.final();
  } catch {
    return null;
  }
  return seen.digest("hex") === digest ? plain : null;
}

async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    if (at > 0) await new Promise<void>((resolve) => setImmediate(resolve));
    yield bytes.subarray(at, at + sliceBytes);
  }
}
