import fc from "fast-check";
import { expect, test } from "vitest";
import type { PairingCode } from "../../../../schemas/pairing.ts";
import { generateKeys } from "../../../../services/links/keys.ts";
import { readCode, writeCode } from "../../../../services/links/pairing/code.ts";
import { systemIdentifiers as ids } from "../../../../services/runtime/system-identifiers.ts";

const code = (broker: PairingCode["broker"]): PairingCode => ({
  invite: ids.next("invite"),
  environmentId: ids.next("env"),
  publicKey: generateKeys().publicKey,
  secret: "0123456789abcdefABCDEF",
  broker,
});
const codes = [
  code(null),
  code({ url: "tls://box.example:4222", credentials: null }),
  code({ url: "nats://a:1,nats://b:2", credentials: "-----BEGIN\nä" }),
];

test("a code holds what was put into it, and is read also when a terminal has broken its line", () => {
  for (const held of codes) {
    const text = writeCode(held);
    expect(readCode(text)).toEqual({ ok: true, code: held });
    expect(readCode(` ${text.slice(0, 40)}\r\n  ${text.slice(40)}\n`)).toEqual({ ok: true, code: held });
    expect(text).toMatch(/^rw1\.[\w-]+\.[\w-]{6}$/);
  }
});

test("a slip anywhere in a code is found, and nothing of the code is told", () => {
  const text = writeCode(codes[1] as PairingCode);
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom(...digits), (at, digit) => {
      fc.pre(text[at] !== digit);
      const read = readCode(text.slice(0, at) + digit + text.slice(at + 1));
      expect(read.ok).toBe(false);
      if (!read.ok) expect(JSON.stringify(read.refusal)).not.toContain(text.slice(10, 30));
    }),
  );
  for (let end = 0; end < text.length; end += 7) expect(readCode(text.slice(0, end)).ok).toBe(false);
});

test("a code of another version is told from one that is none, with what to do", () => {
  const text = writeCode(codes[0] as PairingCode);
  expect(readCode(text.replace("rw1", "rw7"))).toMatchObject({ ok: false, refusal: { reason: "wrong_version" } });
  for (const none of ["", "rw", "rw1", "rw1..", "https://example.org", "rw1.e30.AAAAAA"]) expect(readCode(none).ok, none).toBe(false);
  expect(readCode("hello")).toMatchObject({ ok: false, refusal: { reason: "not_a_code" } });
});
