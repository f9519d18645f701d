import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { TestNats } from "../support/nats.ts";
import { type Point, shareOf } from "./boundary.ts";
import { faultsOf } from "./judge.ts";
import { tellWithTrouble } from "./world.ts";

const nats = await TestNats.start();
afterAll(() => nats.end());
const undisturbed = await tellWithTrouble(nats.url, {});

/** Numbers from 0 to below `bound` that follow from a seed (a linear congruential generator will do here). */
function numbersFrom(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

const seeds = Array.from({ length: 20 }, (_, seed) => seed + 1);

test.each(shareOf(seeds))(
  "both environments killed again and again, and the broker with its folder, come to the same end (seed %i)",
  async (seed) => {
    const below = numbersFrom(seed);
    /** Three kills of one side, each somewhere in the life of that process. */
    const kills = (bound: number): Point[] => [bound, bound, bound].map((b) => ({ moment: "*", event: "*", nth: 1 + below(b) }));
    const trouble = { laptop: { places: kills(60) }, box: { places: kills(30) } };
    const wait = 300 + below(2_000);
    const wiped = below(2) === 0;
    const broker = (async () => {
      await delay(wait);
      await nats.kill();
      if (wiped) nats.wipe();
      await nats.start();
    })();
    const told = await tellWithTrouble(nats.url, trouble);
    await broker;
    expect(faultsOf(told.end, undisturbed.end, 6)).toEqual([]);
    expect(told.replayed.filter((r) => !r.same)).toEqual([]);
  },
);
