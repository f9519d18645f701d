import { expect, test } from "vitest";
import { BoundaryCounter, pointsOf, shareOf, titleOf } from "./boundary.ts";

test("a boundary is found again by one event of it, whatever shares its commit this time", () => {
  const recorded = ["before commit run.ended thread.run_ended", "after effect provider.start", "before commit run.ended"];
  const points = pointsOf(recorded);
  expect(points.map(titleOf)).toEqual([
    "before commit run.ended, 1st time",
    "after effect provider.start, 1st time",
    "before commit run.ended, 2nd time",
  ]);
  const counter = new BoundaryCounter();
  const again = [
    "before commit link.connected run.ended thread.run_ended",
    "before commit items",
    "before commit thread.run_queued run.ended",
  ];
  expect(again.map((name) => counter.count(name).some((p) => JSON.stringify(p) === JSON.stringify(points[2])))).toEqual([
    false,
    false,
    true,
  ]);
});

test("the turns of a share together take every point once, and no turn takes none", () => {
  const points = Array.from({ length: 23 }, (_, at) => at);
  const turns = (all: number[]) =>
    Array.from({ length: 10 }, (_, turn) => shareOf(all, { ROPEWALK_CRASH_SHARE: "0.1", ROPEWALK_CRASH_TURN: `${turn}` }));
  expect(
    turns(points)
      .flat()
      .sort((a, b) => a - b),
  ).toEqual(points);
  expect(turns([1, 2, 3]).every((share) => share.length === 1)).toBe(true);
  expect(shareOf(points, {})).toEqual(points);
  expect(shareOf([], { ROPEWALK_CRASH_SHARE: "0.1" })).toEqual([]);
});
