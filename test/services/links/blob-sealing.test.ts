import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { openBlob, sealBlob } from "../../../services/links/blob-sealing.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("a blob opens to the same bytes, whatever its size", async () => {
  for (const size of [0, 1, 1024 * 1024, 3 * 1024 * 1024 + 5]) {
    const plain = randomBytes(size);
    const { sealed, key, digest } = await sealBlob(plain, "name");
    expect(digest).toBe(sha256(plain));
    const opened = await openBlob(sealed, "name", key, digest);
    expect(opened !== null && Buffer.compare(opened, plain) === 0, `${size}`).toBe(true);
  }
});

test("two sealings of the same bytes share neither key nor a block", async () => {
  const plain = Buffer.alloc(1_000);
  const [one, two] = [await sealBlob(plain, "name"), await sealBlob(plain, "name")];
  expect(one.key).not.toBe(two.key);
  expect(Buffer.from(one.sealed).subarray(0, 16).equals(Buffer.from(two.sealed).subarray(0, 16))).toBe(false);
});

test("a blob that is damaged, cut, of another name, of another put, or not what its digest names, does not open", async () => {
  const plain = randomBytes(100_000);
  const { sealed, key, digest } = await sealBlob(plain, "name");
  const changed = Buffer.from(sealed);
  changed[50_000] = (changed[50_000] ?? 0) ^ 1;
  const other = await sealBlob(plain, "name");
  expect(await openBlob(changed, "name", key, digest)).toBe(null);
  expect(await openBlob(sealed.subarray(0, 99_000), "name", key, digest)).toBe(null);
  expect(await openBlob(sealed.subarray(0, 3), "name", key, digest)).toBe(null);
  expect(await openBlob(sealed, "other name", key, digest)).toBe(null);
  expect(await openBlob(other.sealed, "name", key, digest)).toBe(null);
  expect(await openBlob(sealed, "name", "short", digest)).toBe(null);
  expect(await openBlob(sealed, "name", key, sha256(randomBytes(4)))).toBe(null);
});
