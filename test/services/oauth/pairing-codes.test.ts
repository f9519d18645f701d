import { expect, test } from "vitest";
import type { ClientGrant } from "../../../schemas/client.ts";
import type { EnvironmentId } from "../../../schemas/ids.ts";
import { broadestModes } from "../../../schemas/modes.ts";
import { oauthLimits } from "../../../services/oauth/limits.ts";
import { PairingCodes } from "../../../services/oauth/pairing-codes.ts";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";

const here = "env:01a22d31-9dc2-7749-a2be-2bb293e1a298" as EnvironmentId;
const grant: ClientGrant = { maxModes: broadestModes, access: ["reads"] };

function codes() {
  const clock = new MemoryClock();
  return { clock, codes: new PairingCodes(here, clock) };
}

test("a code has ten digits that nobody takes for another, and is good as a person types it", () => {
  const { codes: own } = codes();
  const { code } = own.make(grant);
  expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/);
  const loosely = code.toLowerCase().replace("-", " ").replaceAll("0", "o").replaceAll("1", "l");
  for (const typed of [code, loosely, ` ${code.replace("-", "")} `]) expect(own.look(typed)).toEqual(grant);
});

test("a code is good once", () => {
  const { codes: own } = codes();
  const { code } = own.make(grant);
  expect(own.use(code)).toEqual(grant);
  expect(own.look(code)).toBeNull();
  expect(own.use(code)).toBeNull();
});

test("a code is good for ten minutes and not a moment longer", async () => {
  const { clock, codes: own } = codes();
  const { code, expiresAt } = own.make(grant);
  expect(expiresAt - clock.now()).toBe(600_000);
  await clock.advance(599_999);
  expect(own.look(code)).toEqual(grant);
  await clock.advance(1);
  expect(own.look(code)).toBeNull();
  expect(own.use(code)).toBeNull();
});

test("looking at a code does not use it, and a wrong one uses none", () => {
  const { codes: own } = codes();
  const { code } = own.make(grant);
  for (const wrong of ["", "AAAAA-AAAAA", `${code}0`, code.slice(1), "x".repeat(10_000)]) expect(own.use(wrong)).toBeNull();
  expect(own.look(code)).toEqual(grant);
  expect(own.use(code)).toEqual(grant);
});

test("only so many codes are open at once: the oldest goes", () => {
  const { codes: own } = codes();
  const made = Array.from({ length: oauthLimits.pairingCodes + 1 }, () => own.make(grant).code);
  expect(own.look(made[0] ?? "")).toBeNull();
  expect(made.slice(1).every((code) => own.look(code) !== null)).toBe(true);
});

test("two codes are never alike, and their digits are spread evenly", () => {
  const { codes: own } = codes();
  const made = Array.from({ length: 2_000 }, () => own.make(grant).code);
  expect(new Set(made).size).toBe(made.length);
  const counts = new Map<string, number>();
  for (const digit of made.join("").replaceAll("-", "")) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  // 20,000 digits of 32 kinds: 625 of each, give or take six standard deviations.
  expect(counts.size).toBe(32);
  for (const count of counts.values()) expect(Math.abs(count - 625)).toBeLessThan(150);
});
