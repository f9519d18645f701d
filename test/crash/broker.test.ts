import { afterAll, describe, expect, test } from "vitest";
import type { SideName } from "../../services/cli/demo/story/stage.ts";
import { TestNats } from "../support/nats.ts";
import { pointsOf, shareOf, titleOf } from "./boundary.ts";
import { faultsOf } from "./judge.ts";
import { tellWithTrouble } from "./world.ts";

const nats = await TestNats.start();
afterAll(() => nats.end());

/** The broker's own moments: whatever goes over the link. In between one of many will do. */
const concernsLink = (event: string) => /^(link|outbox|task)\./.test(event);

describe.each(["laptop", "box"] satisfies SideName[])("at the moments of the %s", async (side) => {
  const undisturbed = await tellWithTrouble(nats.url, { [side]: { places: [] } });
  const points = pointsOf(undisturbed.recorded[side] ?? []).filter((point, at) => concernsLink(point.event) || at % 12 === 0);
  const chosen = shareOf(points).map((at) => [titleOf(at), at] as const);

  describe.each([
    ["killed", false],
    ["killed, and its folder wiped,", true],
  ] as const)("the nats-server %s", (_how, wiped) => {
    test.each(chosen)("%s comes back, and the story to the same end", async (_title, at) => {
      let back = Promise.resolve();
      let over = false;
      const ended = nats.exited.then(() => {
        if (over) return;
        if (wiped) nats.wipe();
        back = nats.start();
      });
      const told = await tellWithTrouble(nats.url, { [side]: { places: [at], victim: nats.pid } });
      if (told.reached) await ended;
      over = true;
      await back;
      // Nobody's process ended: not one run may be interrupted.
      expect(faultsOf(told.end, undisturbed.end, 0)).toEqual([]);
      expect(told.replayed.filter((r) => !r.same)).toEqual([]);
    });
  });
});
