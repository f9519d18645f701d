import { afterAll, expect, test } from "vitest";
import type { SideName } from "../../services/cli/demo/story/stage.ts";
import { TestNats } from "../support/nats.ts";
import { type Point, pointsOf, shareOf, titleOf } from "./boundary.ts";
import { faultsOf } from "./judge.ts";
import { tellWithTrouble } from "./world.ts";

/**
 * Tells the story once undisturbed, then once for each boundary that a side passed in it, with that side's process killed
 * there and started again. Each must come to the same end.
 */
export async function killAtEveryBoundary(side: SideName): Promise<void> {
  const nats = await TestNats.start();
  afterAll(() => nats.end());
  const undisturbed = await tellWithTrouble(nats.url, { side, at: null });
  const points = pointsOf(undisturbed.recorded);

  test(`the undisturbed story of the ${side} is the one that the others are compared with`, () => {
    expect(faultsOf(undisturbed.end, undisturbed.end, 0)).toEqual([]);
    expect(points.length).toBeGreaterThan(50);
  });

  test.each(shareOf(points).map((point) => ({ point, title: titleOf(point) })))(
    `the ${side} killed $title, and started again, comes to the same end`,
    async ({ point }) => {
      await expectSameEnd([point]);
    },
  );

  const whileRecovering: Point[] = [1, 2, 3, 4, 6].map((nth) => ({ moment: "*", event: "*", nth }));
  const twice = shareOf(points.filter((_, at) => at % 5 === 2)).flatMap((point, at) => {
    const again = whileRecovering[at % whileRecovering.length] as Point;
    return [{ point, again, title: titleOf(point), nth: again.nth }];
  });
  test.each(twice)(
    `the ${side} killed $title, and again at boundary $nth of its recovery, comes to the same end`,
    async ({ point, again }) => {
      await expectSameEnd([point, again]);
    },
  );

  async function expectSameEnd([at, ...then]: Point[]): Promise<void> {
    const { end, replayed } = await tellWithTrouble(nats.url, { side, at: at as Point, then });
    expect(faultsOf(end, undisturbed.end, 1 + then.length)).toEqual([]);
    expect(replayed.filter((r) => !r.same)).toEqual([]);
  }
}
