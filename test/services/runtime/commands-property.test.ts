import fc from "fast-check";
import { test } from "vitest";
import { expectJournalsFold, expectSound, expectToldOnce } from "../../support/invariants.ts";
import { lives, RandomLife } from "../../support/random-life.ts";

test("whatever people and agents do at once and one after the other, every run ends, every transfer keeps to its diagram, and everything is told exactly once", async () => {
  await fc.assert(
    fc.asyncProperty(lives, async (groups) => {
      const life = await RandomLife.begin();
      try {
        await life.live(groups);
        await life.settle();
        expectSound(life.env);
        expectToldOnce(life.env);
      } finally {
        await life.env.close();
      }
      expectJournalsFold(life.env.dir);
    }),
    { numRuns: 12, interruptAfterTimeLimit: 120_000 },
  );
}, 240_000);
