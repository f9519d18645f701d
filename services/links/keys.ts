import { createPrivateKey, createPublicKey, createSecretKey, diffieHellman, generateKeyPairSync, hash, type KeyObject } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { PublicKey } from "../../schemas/link.ts";
import { syncFolder } from "../runtime/whole-file.ts";

/** An environment's own key pair, ready for use. The private key never leaves this object. */
export interface EnvironmentKeys {
  /** Raw X25519 public key, base64url: what a peer pins. */
  readonly publicKey: string;
  readonly keyId: string;
  /** The secret shared with the holder of `peerPublicKey`; computed once per peer. Throws for a key that is no point of the curve. */
  agree(peerPublicKey: string): KeyObject;
}

export type KeysFailure = { reason: "unreadable" | "too_open" | "damaged"; path: string; message: string; hint: string };
export type KeysResult = { ok: true; keys: EnvironmentKeys; created: boolean } | { ok: false; failure: KeysFailure };

const StoredKeys = z.strictObject({ version: z.literal(1), algorithm: z.literal("x25519"), publicKey: PublicKey, privateKey: PublicKey });

/** Short name of a public key: the first 16 bytes of its SHA-256, base64url. Every envelope names both sides' keys by it. */
export function keyIdOf(publicKey: string): string {
  return hash("sha256", Buffer.from(publicKey, "base64url"), "buffer").subarray(0, 16).toString("base64url");
}

/** The key pair in `<dir>/keys/link.json`, made (mode 0600) when there is none. Two processes that start at once get the same pair. */
export function loadOrCreateKeys(dir: string): KeysResult {
  const folder = join(dir, "keys");
  const path = join(folder, "link.json");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const existing = readOwnerOnly(path);
    if (existing === null) return { ok: true, keys: keysOf(create(folder, path)), created: true };
    return existing.ok ? parse(existing.text, path) : existing;
  } catch (error) {
    return failed("unreadable", path, messageOf(error), "Make the file readable for the user that runs ropewalk.");
  }
}

/** A fresh pair that is stored nowhere. */
export function generateKeys(): EnvironmentKeys {
  return keysOf(generateKeyPairSync("x25519").privateKey);
}

function readOwnerOnly(path: string): { ok: true; text: string } | { ok: false; failure: KeysFailure } | null {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    const mode = fstatSync(fd).mode & 0o777;
    // Windows has no such bits; access there is the folder's business.
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      return failed("too_open", path, `others can read it (mode ${mode.toString(8)})`, `Run: chmod 600 ${path}`);
    }
    return { ok: true, text: readFileSync(fd, "utf8") };
  } finally {
    closeSync(fd);
  }
}

function parse(text: string, path: string): KeysResult {
  const hint = "Restore it from a backup. A new pair makes a new identity: every link would have to be paired again.";
  try {
    const stored = StoredKeys.parse(JSON.parse(text));
    const keys = keysOf(createPrivateKey({ key: { kty: "OKP", crv: "X25519", x: stored.publicKey, d: stored.privateKey }, format: "jwk" }));
    if (keys.publicKey === stored.publicKey) return { ok: true, keys, created: false };
    return failed("damaged", path, "its two keys do not belong together", hint);
  } catch {
    // What a parser says could quote the private key.
    return failed("damaged", path, "it does not hold a key pair", hint);
  }
}

/** Written beside, synced, then linked to its name: a crash leaves all of it or nothing, and the first of two writers wins. */
function create(folder: string, path: string): KeyObject {
  const { privateKey } = generateKeyPairSync("x25519");
  const { x, d } = privateKey.export({ format: "jwk" });
  const temporary = join(folder, `.link.${process.pid}.${hash("sha256", String(x)).slice(0, 8)}.tmp`);
  try {
    const fd = openSync(temporary, "wx", 0o600);
    try {
      writeFileSync(fd, `${JSON.stringify({ version: 1, algorithm: "x25519", publicKey: x, privateKey: d })}\n`);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    linkSync(temporary, path);
    syncFolder(folder);
    return privateKey;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const stored = StoredKeys.parse(JSON.parse(readFileSync(path, "utf8")));
    return createPrivateKey({ key: { kty: "OKP", crv: "X25519", x: stored.publicKey, d: stored.privateKey }, format: "jwk" });
  } finally {
    rmSync(temporary, { force: true });
  }
}

function keysOf(privateKey: KeyObject): EnvironmentKeys {
  const publicKey = String(createPublicKey(privateKey).export({ format: "jwk" }).x);
  const shared = new Map<string, KeyObject>();
  return {
    publicKey,
    keyId: keyIdOf(publicKey),
    agree(peerPublicKey) {
      let secret = shared.get(peerPublicKey);
      if (secret === undefined) {
        const peer = createPublicKey({ key: { kty: "OKP", crv: "X25519", x: peerPublicKey }, format: "jwk" });
        secret = createSecretKey(diffieHellman({ privateKey, publicKey: peer }));
        shared.set(peerPublicKey, secret);
      }
      return secret;
    },
  };
}

function failed(reason: KeysFailure["reason"], path: string, message: string, hint: string): { ok: false; failure: KeysFailure } {
  return { ok: false, failure: { reason, path, message: `${path}: ${message}`, hint } };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
