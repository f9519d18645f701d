import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PublicKey } from "../../../schemas/link.ts";
import { generateKeys, keyIdOf, loadOrCreateKeys } from "../../../services/links/keys.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "ropewalk-keys-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const file = () => join(dir, "keys", "link.json");

function loaded() {
  const result = loadOrCreateKeys(dir);
  if (!result.ok) throw new Error(result.failure.message);
  return result;
}

test("keys are made once, readable by their owner alone, and are the same ever after", () => {
  const first = loaded();
  const second = loaded();
  expect([first.created, second.created]).toEqual([true, false]);
  expect(PublicKey.parse(first.keys.publicKey)).toBe(second.keys.publicKey);
  expect(first.keys.keyId).toBe(keyIdOf(first.keys.publicKey));
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(statSync(join(dir, "keys")).mode & 0o777).toBe(0o700);
  expect(readdirSync(join(dir, "keys"))).toEqual(["link.json"]);
});

test("two sides agree on one secret, and a third has another", () => {
  const [a, b, c] = [generateKeys(), generateKeys(), generateKeys()];
  const secret = (of: typeof a, to: typeof a) => of.agree(to.publicKey).export().toString("hex");
  expect(secret(a, b)).toBe(secret(b, a));
  expect(secret(a, c)).not.toBe(secret(a, b));
  expect(a.agree(b.publicKey)).toBe(a.agree(b.publicKey));
});

test("a key of low order is no key to agree with", () => {
  expect(() => generateKeys().agree("A".repeat(43))).toThrow();
});

test("keys that others can read are refused, with the command that mends it", () => {
  loaded();
  chmodSync(file(), 0o640);
  expect(loadOrCreateKeys(dir)).toMatchObject({
    ok: false,
    failure: { reason: "too_open", path: file(), hint: `Run: chmod 600 ${file()}` },
  });
  chmodSync(file(), 0o600);
  expect(loadOrCreateKeys(dir)).toMatchObject({ ok: true, created: false });
});

test("a damaged key file is refused, never replaced and never quoted", () => {
  loaded();
  const stored = JSON.parse(readFileSync(file(), "utf8")) as { privateKey: string; publicKey: string };
  const other = generateKeys().publicKey;
  for (const text of ["", "{", JSON.stringify({ ...stored, publicKey: other }), JSON.stringify({ ...stored, privateKey: "x" })]) {
    writeFileSync(file(), text);
    const result = loadOrCreateKeys(dir);
    expect(result).toMatchObject({ ok: false, failure: { reason: "damaged" } });
    expect(JSON.stringify(result)).not.toContain(stored.privateKey);
    expect(readFileSync(file(), "utf8")).toBe(text);
  }
});

test("a place where nothing can be written is a failure with a reason, not a throw", () => {
  writeFileSync(join(dir, "keys"), "a file where the folder should be");
  expect(loadOrCreateKeys(dir)).toMatchObject({ ok: false, failure: { reason: "unreadable" } });
});

test("processes that start at once on a fresh folder get the same pair", async () => {
  const module = fileURLToPath(new URL("../../../services/links/keys.ts", import.meta.url));
  const code = `const { loadOrCreateKeys } = await import(${JSON.stringify(module)}); console.log(loadOrCreateKeys(process.argv[1]).keys.publicKey);`;
  const start = () => promisify(execFile)(process.execPath, ["--input-type=module", "-e", code, dir]);
  const outputs = await Promise.all([start(), start(), start(), start()]);
  const keys = new Set(outputs.map(({ stdout }) => stdout.trim()));
  expect([...keys]).toEqual([loaded().keys.publicKey]);
});
