import { createPrivateKey, createPublicKey, createSecretKey, diffieHellman, randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { IncarnationId, RequestId } from "../../../schemas/ids.ts";
import { createLinkSeal, type LinkSeal, maxSealedTogether, type OutgoingHead } from "../../../services/links/envelope.ts";
import { type EnvironmentKeys, generateKeys, keyIdOf } from "../../../services/links/keys.ts";

type Side = { environmentId: string; keys: EnvironmentKeys };
const side = (): Side => ({ environmentId: `env:${randomUUID()}`, keys: generateKeys() });
const sealOf = (linkId: string, self: Side, peer: Side): LinkSeal =>
  createLinkSeal({ linkId, self, peer: { environmentId: peer.environmentId, publicKey: peer.keys.publicKey } });

const linkId = `link:${randomUUID()}`;
const [laptop, box, stranger] = [side(), side(), side()];
const fromLaptop = sealOf(linkId, laptop, box);
const atBox = sealOf(linkId, box, laptop);

const head = (over: Partial<OutgoingHead> = {}): OutgoingHead => ({
  incarnation: `inc:${randomUUID()}` as IncarnationId,
  commit: 7,
  epoch: 1,
  number: 3,
  kind: "request",
  requestId: `req:${randomUUID()}` as RequestId,
  sentAt: 1_700_000_000_000,
  carries: "body",
  trace: null,
  ...over,
});
const message = (text: string, over: Partial<OutgoingHead> = {}) => ({ head: head(over), body: Buffer.from(text) });

function opened(bytes: Uint8Array, by: LinkSeal = atBox) {
  const result = by.open(bytes);
  if (!result.ok) throw new Error(result.reason);
  return result;
}

test("what is sealed for a peer opens there, whole, in order and with its heads", () => {
  const sent = [message("first", { number: 1 }), message("", { number: 2 }), message("z".repeat(300_000), { number: 3 })];
  const { messages, unplaced } = opened(fromLaptop.seal(sent));
  expect(unplaced).toBe(0);
  expect(messages.map(({ body }) => body.toString())).toEqual(sent.map(({ body }) => body.toString()));
  expect(messages.map((got) => got.usable && got.head)).toEqual(
    sent.map(({ head }) => ({
      ...head,
      v: 1,
      linkId,
      from: laptop.environmentId,
      to: box.environmentId,
      senderKey: laptop.keys.keyId,
      recipientKey: box.keys.keyId,
    })),
  );
});

test("no byte of a sealing can be changed, cut off or added without being noticed", () => {
  const bytes = fromLaptop.seal([message("one", { number: 1 }), message("two", { number: 2 })]);
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(atBox.open(changed), `byte ${at}`).toEqual({ ok: false, reason: "not_authentic" });
  }
  for (const length of [0, 3, 4, 40, bytes.length - 1]) expect(atBox.open(bytes.subarray(0, length)).ok).toBe(false);
  expect(atBox.open(Buffer.concat([bytes, Buffer.from([0])])).ok).toBe(false);
});

test("the body is unreadable to everybody but the recipient", () => {
  const bytes = fromLaptop.seal([message("a very secret plan")]);
  expect(bytes.includes("a very secret plan")).toBe(false);
  expect(sealOf(linkId, stranger, laptop).open(bytes).ok).toBe(false);
  // Not even with the right names: the keys decide.
  expect(sealOf(linkId, { ...box, keys: stranger.keys }, laptop).open(bytes).ok).toBe(false);
});

describe("a message is refused as not authentic", () => {
  const refused = (bytes: Uint8Array, by: LinkSeal = atBox) => expect(by.open(bytes)).toEqual({ ok: false, reason: "not_authentic" });

  test("when somebody else made it in the peer's name", () => {
    refused(sealOf(linkId, { ...laptop, keys: stranger.keys }, box).seal([message("forged")]));
  });
  test("when it is for another environment", () => {
    refused(sealOf(linkId, laptop, { ...box, environmentId: stranger.environmentId }).seal([message("x")]));
  });
  test("when it comes from another environment of the same key", () => {
    refused(sealOf(linkId, { ...laptop, environmentId: stranger.environmentId }, box).seal([message("x")]));
  });
  test("when it belongs to another link of the same two", () => {
    refused(sealOf(`link:${randomUUID()}`, laptop, box).seal([message("x")]));
  });
  test("when it is the recipient's own, sent back", () => {
    refused(atBox.seal([message("x")]));
    refused(fromLaptop.seal([message("x")]), fromLaptop);
  });
  test("when it is noise, or claims heads of any length", () => {
    for (const length of [0, 1, 100, 5_000]) refused(randomBytes(length));
    const huge = randomBytes(2_000);
    huge.writeUInt32BE(0xffff_ffff);
    refused(huge);
  });
});

test("a message sealed twice never looks the same: a number is no nonce", () => {
  const same = message("again and again", { number: 5 });
  const sealings = new Set(Array.from({ length: 50 }, () => fromLaptop.seal([same]).toString("base64")));
  expect(sealings.size).toBe(50);
});

test("an authentic message of a newer version keeps its place, and is not usable", () => {
  const newer = { ...head({ number: 9 }), kind: "barter" as OutgoingHead["kind"] };
  const { messages } = opened(fromLaptop.seal([message("ok", { number: 8 }), { head: newer, body: Buffer.from("?") }]));
  expect(messages[0]?.usable).toBe(true);
  expect(messages[1]).toMatchObject({ usable: false, head: { number: 9, epoch: 1, requestId: newer.requestId, carries: "body" } });
});

test("an authentic message whose number cannot be read is counted, and the others of its sealing are read", () => {
  const odd = head({ number: -1 });
  const { messages, unplaced } = opened(fromLaptop.seal([{ head: odd, body: Buffer.from("?") }, message("ok", { number: 4 })]));
  expect(unplaced).toBe(1);
  expect(messages.map(({ head }) => head.number)).toEqual([4]);
});

test("one sealing has bounds", () => {
  const many = Array.from({ length: maxSealedTogether }, (_, i) => message(`${i}`, { number: i + 1 }));
  expect(opened(fromLaptop.seal(many)).messages.length).toBe(maxSealedTogether);
  expect(() => fromLaptop.seal([...many, message("one more")])).toThrow(RangeError);
  expect(() => fromLaptop.seal([])).toThrow(RangeError);
  expect(() => fromLaptop.seal([message("x", { trace: "t".repeat(5_000) })])).toThrow(RangeError);
});

test("a message that was sealed by this version still opens", () => {
  const golden = JSON.parse(readFileSync(new URL("../../golden/link-envelope.json", import.meta.url), "utf8")) as {
    linkId: string;
    recipient: { environmentId: string; x: string; d: string };
    sender: { environmentId: string; publicKey: string };
    sealed: string;
    bodies: string[];
  };
  const { environmentId, x, d } = golden.recipient;
  const privateKey = createPrivateKey({ key: { kty: "OKP", crv: "X25519", x, d }, format: "jwk" });
  const keys: EnvironmentKeys = {
    publicKey: x,
    keyId: keyIdOf(x),
    agree: (peer) =>
      createSecretKey(
        diffieHellman({ privateKey, publicKey: createPublicKey({ key: { kty: "OKP", crv: "X25519", x: peer }, format: "jwk" }) }),
      ),
  };
  const seal = createLinkSeal({ linkId: golden.linkId, self: { environmentId, keys }, peer: golden.sender });
  const { messages } = opened(Buffer.from(golden.sealed, "base64"), seal);
  expect(messages.map(({ body }) => body.toString())).toEqual(golden.bodies);
  expect(messages.map((got) => got.usable)).toEqual([true, true]);
});
