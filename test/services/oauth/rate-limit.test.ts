import { expect, test } from "vitest";
import { RateLimit } from "../../../services/oauth/rate-limit.ts";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";

const rate = { perAddress: 3, inAll: 5, windowMs: 60_000 };

test("an address that comes too often waits until the window is over; others do not wait for it", async () => {
  const clock = new MemoryClock();
  const limit = new RateLimit(clock, rate);
  await clock.advance(10_000);
  expect([1, 2, 3].map(() => limit.take("a"))).toEqual([0, 0, 0]);
  expect(limit.take("a")).toBe(50_000);
  expect(limit.take("b")).toBe(0);
  await clock.advance(50_000);
  expect(limit.take("a")).toBe(0);
});

test("all together have a bound too, whatever their addresses", () => {
  const limit = new RateLimit(new MemoryClock(), rate);
  for (const address of ["a", "b", "c", "d", "e"]) expect(limit.take(address)).toBe(0);
  expect(limit.take("f")).toBe(60_000);
});

test("what is refused is not counted, so that waiting helps", () => {
  const limit = new RateLimit(new MemoryClock(), { ...rate, inAll: 100 });
  for (let n = 0; n < 50; n += 1) limit.take("a");
  for (let n = 0; n < 50; n += 1) expect(limit.take(`b${n}`)).toBe(0);
});

test("addresses beyond number take no more memory: they are counted as one", () => {
  const limit = new RateLimit(new MemoryClock(), { perAddress: 3, inAll: 1_000_000, windowMs: 60_000 });
  for (let n = 0; n < 10_000; n += 1) limit.count(`address-${n}`);
  expect([1, 2, 3].map((n) => limit.take(`late-${n}`))).toEqual([0, 0, 0]);
  expect(limit.take("late-4")).toBeGreaterThan(0);
  expect(limit.take("address-1")).toBe(0);
});
