import fc from "fast-check";
import { expect, test } from "vitest";
import { createMemoryFabric, type Disturbance } from "../../../services/links/memory/transport.ts";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";
import { appliedNumbers, arrived, linkPair, oneTo } from "../../support/link-pair.ts";

const disturbance = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Disturbance>("keep") },
  { weight: 1, arbitrary: fc.constantFrom<Disturbance>("drop", "twice", "late", "refuse", "refused_and_kept") },
);
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("write" as const), who: fc.constantFrom("a", "b"), count: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 3_000 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wipe" as const), announce: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("cut" as const), who: fc.constantFrom("a", "b"), ms: fc.integer({ min: 1, max: 5_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const), who: fc.constantFrom("a", "b") }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("trouble" as const), who: fc.constantFrom("a", "b"), ms: fc.integer({ min: 1, max: 2_000 }) }),
  },
);

test("whatever the fabric drops, repeats, reorders, refuses or loses, each store has 1..n once, in order, and all of it receipted", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), fc.infiniteStream(disturbance), async (steps, disturbances) => {
      const clock = new MemoryClock();
      let calm = false;
      const fabric = createMemoryFabric({
        clock,
        batchMessages: 7,
        disturb: () => (calm ? "keep" : (disturbances.next().value ?? "keep")),
      });
      const { a, b } = linkPair("property", clock, {
        windowMessages: 20,
        reorderMessages: 6,
        applyMessages: 4,
        publishesInFlight: 3,
        frameMessages: 4,
      });
      const ends = { a, b };
      await a.start(fabric.transport("a"));
      await b.start(fabric.transport("b"));
      for (const now of steps) {
        if (now.do === "write") ends[now.who as "a" | "b"].write(now.count);
        if (now.do === "wait") await clock.advance(now.ms);
        if (now.do === "wipe") fabric.wipe(now.announce);
        if (now.do === "cut") {
          fabric.cut(now.who);
          await clock.advance(now.ms);
          fabric.restore(now.who);
        }
        if (now.do === "restart") {
          await ends[now.who as "a" | "b"].stop();
          await ends[now.who as "a" | "b"].start(fabric.transport(now.who));
        }
        if (now.do === "trouble") {
          ends[now.who as "a" | "b"].ledger.trouble = "the disk is full";
          await clock.advance(now.ms);
          ends[now.who as "a" | "b"].ledger.trouble = null;
        }
      }
      calm = true;
      const quiet = await clock.runUntil(() => arrived(a, b) && arrived(b, a), 60 * 60_000);
      expect(appliedNumbers(b)).toEqual(oneTo(a.state.sent.number));
      expect(appliedNumbers(a)).toEqual(oneTo(b.state.sent.number));
      expect(quiet).toBe(true);
      expect([a.state.diverged, b.state.diverged]).toEqual([false, false]);
      expect([a.stats.backlog, b.stats.backlog]).toEqual([0, 0]);
      await a.stop();
      await b.stop();
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 150) },
  );
}, 120_000);
