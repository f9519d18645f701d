import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";
import type { Clock } from "../../../services/runtime/ports/clock.ts";
import { systemClock } from "../../../services/runtime/system-clock.ts";

type Clocks = { name: string; make(): { clock: Clock; pass(ms: number): Promise<void> } };

const clocks: Clocks[] = [
  { name: "the system's clock", make: () => ({ clock: systemClock, pass: (ms) => delay(ms) }) },
  {
    name: "the memory clock",
    make() {
      const clock = new MemoryClock();
      return { clock, pass: (ms) => clock.advance(ms) };
    },
  },
];

describe.each(clocks)("$name", ({ make }) => {
  test("calls back once, and not before its time", async () => {
    const { clock, pass } = make();
    const set = clock.now();
    const called: number[] = [];
    clock.after(60, () => called.push(clock.now()));
    await pass(20);
    expect(called).toEqual([]);
    await pass(400);
    expect(called).toHaveLength(1);
    // The system's timers and its time of day are two clocks, rounded apart.
    expect((called[0] ?? 0) - set).toBeGreaterThanOrEqual(59);
  });

  test("a timer that is taken back never calls; taking it back again, or too late, does nothing", async () => {
    const { clock, pass } = make();
    const called: string[] = [];
    const takeBack = clock.after(40, () => called.push("taken back"));
    const late = clock.after(1, () => called.push("kept"));
    takeBack();
    takeBack();
    await pass(300);
    late();
    expect(called).toEqual(["kept"]);
  });

  test("timers call in the order in which they fall due, those of one time in the order in which they were set", async () => {
    const { clock, pass } = make();
    const called: string[] = [];
    clock.after(150, () => called.push("late"));
    for (const name of ["first", "second", "third"]) clock.after(30, () => called.push(name));
    clock.after(1, () => called.push("soon"));
    await pass(600);
    expect(called).toEqual(["soon", "first", "second", "third", "late"]);
  });

  test("a timer without a delay calls soon, but never within the call that sets it", async () => {
    const { clock, pass } = make();
    const called: number[] = [];
    clock.after(0, () => called.push(0));
    clock.after(-5, () => called.push(-5));
    expect(called).toEqual([]);
    await Promise.resolve();
    expect(called).toEqual([]);
    await pass(100);
    expect(called.sort()).toEqual([-5, 0]);
  });

  test("a callback may set a timer and take back one that is due with it", async () => {
    const { clock, pass } = make();
    const called: string[] = [];
    clock.after(10, () => {
      called.push("one");
      takeBack();
      clock.after(10, () => called.push("set by one"));
    });
    const takeBack = clock.after(10, () => called.push("two"));
    await pass(300);
    expect(called).toEqual(["one", "set by one"]);
  });

  test("a timer of many years waits, and can be taken back", async () => {
    const { clock, pass } = make();
    const called: string[] = [];
    const takeBack = clock.after(10 * 365 * 24 * 3_600_000, () => called.push("years"));
    await pass(50);
    expect(called).toEqual([]);
    takeBack();
  });
});

test("timers of the system's clock do not keep the process alive", async () => {
  const url = new URL("../../../services/runtime/system-clock.ts", import.meta.url).href;
  const program = `const { systemClock } = await import(${JSON.stringify(url)}); systemClock.after(60_000, () => {}); systemClock.after(1e12, () => {});`;
  const started = performance.now();
  await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { timeout: 20_000 });
  expect(performance.now() - started).toBeLessThan(20_000);
});

test("the memory clock moves from timer to timer until something has happened, and says when it never did", async () => {
  const clock = new MemoryClock(5_000);
  let beats = 0;
  const beat = () => {
    beats += 1;
    clock.after(100, beat);
  };
  clock.after(100, beat);
  expect(await clock.runUntil(() => beats === 7, 10_000)).toBe(true);
  expect(clock.now()).toBe(5_700);
  expect(clock.nextDue).toBe(5_800);
  expect(await clock.runUntil(() => beats === 1_000, 50)).toBe(false);
  expect(clock.now()).toBe(5_750);
});
