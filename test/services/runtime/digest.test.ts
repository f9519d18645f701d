import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { measuredDigest, payloadDigest } from "../../../services/runtime/digest.ts";

const request = { handoffId: "h", messages: [{ role: "user", text: "Grüße" }], sourceThreadId: "s" };
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test("a digest is of the JSON with sorted keys and without absent members", () => {
  expect(payloadDigest({ b: 1, a: { d: undefined, c: "x" } })).toBe(sha256('{"a":{"c":"x"},"b":1}'));
});

test("an import's command and what it imports have the digests that each has by itself", () => {
  const json = JSON.stringify(request);
  const whole = `{"import":${json},"type":"thread.import"}`;
  const command = { type: "thread.import", import: structuredClone(request) };
  expect(measuredDigest(command)).toEqual({ digest: sha256(whole), bytes: Buffer.byteLength(whole) });
  expect(measuredDigest(command.import)).toEqual({ digest: sha256(json), bytes: Buffer.byteLength(json) });
  expect(measuredDigest(structuredClone(request))).toEqual(measuredDigest(command.import));
});
