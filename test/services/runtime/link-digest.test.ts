import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { contentDigest, nextLinkDigest } from "../../../services/runtime/link-digest.ts";
import { digestOrigin } from "../../../services/runtime/ports/link-ledger.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test("a body has the same digest as text and as its UTF-8 bytes", () => {
  expect(contentDigest("größer 🚢")).toBe(contentDigest(Buffer.from("größer 🚢")));
  expect(contentDigest("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
});

test("the running digest is SHA-256 over the previous one and the message's, both as hex", () => {
  const first = nextLinkDigest(digestOrigin, contentDigest("a"));
  expect(first).toBe(sha256(`${"0".repeat(64)}${sha256("a")}`));
  expect(nextLinkDigest(first, contentDigest("b"))).toBe(sha256(`${first}${sha256("b")}`));
});

test("another message, another order or one more makes another running digest", () => {
  const after = (...bodies: string[]) => bodies.map((body) => contentDigest(body)).reduce(nextLinkDigest, digestOrigin);
  const digests = [after("a", "b"), after("b", "a"), after("a"), after("a", "b", "b"), after("ab"), after()];
  expect(new Set(digests).size).toBe(digests.length);
});
