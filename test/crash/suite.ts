import { afterAll, expect, test } from "vitest";
import type { SideName } from "../../services/cli/demo/story/stage.ts";
import { script } from "../../services/cli/demo/story/words.ts";
import { TestNats } from "../support/nats.ts";
import { type Point, pointsOf, shareOf, titleOf } from "./boundary.ts";
import { faultsOf } from "./judge.ts";
import { type Told, tellWithTrouble } from "./world.ts";

/** Which boundary of its recovery the second kill takes, in turn. */
const whileRecovering = [1, 2, 3, 4, 6];

/**
 * Tells the story once undisturbed, then once for each boundary that a side passed in it, with that side's process killed
 * there and started again; for some of them a second time while it recovers. Each must come to the same end.
 */
export async function killAtEveryBoundary(side: SideName): Promise<void> {
  const nats = await TestNats.start();
  afterAll(() => nats.end());
  const undisturbed = await tellWithTrouble(nats.url, { [side]: { places: [] } });
  const points = pointsOf(undisturbed.recorded[side] ?? []);
  const told: Told[] = [];

  test(`the undisturbed story of the ${side} is the one that the others are compared with`, () => {
    expect(faultsOf(undisturbed.end, undisturbed.end, 0)).toEqual([]);
    expect(points.length).toBeGreaterThan(50);
  });

  test.each(shareOf(points).map((at) => [titleOf(at), at] as const))(
    `the ${side}, killed %s and started again, comes to the same end`,
    async (_title, at) => sameEnd([at]),
  );

  const twice = shareOf(points.filter((_, at) => at % 5 === 2)).map((at, turn) => {
    const nth = whileRecovering[turn % whileRecovering.length] as number;
    return [titleOf(at), nth, at] as const;
  });
  test.each(twice)(`the ${side}, killed %s and again at boundary %i of its recovery, comes to the same end`, async (_title, nth, at) =>
    sameEnd([at, { moment: "*", event: "*", nth }]),
  );

  const whileGiven = points.filter(
    ({ moment, event }) =>
      event === "provider.start" || event === "effect.started" || (moment === "before commit" && event === "run.accepted"),
  );
  test.each(shareOf(whileGiven).map((at) => [titleOf(at), at] as const))(
    `the ${side}, killed %s, with a provider that cannot say what it was given, tells it again, marked as a possible repeat`,
    async (_title, at) => sameEnd([at], { ...script, lookup: "unknown" }),
  );

  test("nearly every boundary was reached again where it had been recorded", () => {
    // What shares a commit, and how often a receipt is sent, is a matter of timing.
    expect(told.filter((one) => !one.reached).length).toBeLessThanOrEqual(Math.ceil(told.length / 10));
  });

  async function sameEnd(places: Point[], otherScript?: unknown): Promise<void> {
    const one = await tellWithTrouble(nats.url, { [side]: { places }, script: otherScript });
    told.push(one);
    expect(faultsOf(one.end, undisturbed.end, places.length)).toEqual([]);
    expect(one.replayed.filter((r) => !r.same)).toEqual([]);
  }
}
