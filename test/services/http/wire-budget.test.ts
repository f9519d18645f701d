import { describe, expect, test } from "vitest";
import { brotliOverGzip, mostMessages, wireMarks } from "../../../bench/benches/wire.ts";
import { measureWire } from "../../../bench/support/wire/measure.ts";

/** Wide enough for the slowest machine: a turn's changes then come as its first one and the rest. */
const coalesceMs = 3_000;

describe.each(["codex", "claude"] as const)("what a client of a thread of %s receives", (provider) => {
  test("to open it and to follow a turn stays under its budget, and every text that was left out can be fetched as it was said", async () => {
    const sizes = await measureWire(provider, "repeated", coalesceMs);
    const marks = wireMarks(provider);
    expect(sizes.snapshot).toBeLessThan(marks.snapshot);
    expect(sizes.live).toBeLessThan(marks.live);
    expect(sizes.snapshot + sizes.live).toBeLessThan(marks.total);
    expect(sizes.liveDecoded).toBeLessThan(marks.liveDecoded);
    expect(sizes.messages).toBeLessThanOrEqual(mostMessages);
    // Outputs of 5 commands and a tool in each of 10 turns, of 20 and one in the last.
    expect(sizes.fetched).toBe(10 * 6 + 21);
  });

  test("of varied prose is by brotli well below what gzip makes of it, and a page of its newest turns far below all of them", async () => {
    const sizes = await measureWire(provider, "varied", coalesceMs);
    expect(sizes.brotli).toBeLessThan(brotliOverGzip * sizes.gzip);
    expect(sizes.paged).toBeLessThan(0.5 * sizes.snapshot);
    expect(sizes.liveDecoded).toBeLessThan(wireMarks(provider).liveDecoded);
    expect(sizes.messages).toBeLessThanOrEqual(mostMessages);
  });
});
