import { type Bench, type Figure, figure } from "../figure.ts";
import { withEnvironment } from "../support/environment.ts";
import { type FanOut, fanOut } from "../support/fan-out.ts";
import { floorOf, sizeOf } from "../support/floor.ts";
import { recordWrites } from "../support/recording.ts";

/** Children of one parent in one environment, beside the bare statements that the same run gave to SQLite. */
const fanOutOf =
  (count: number): Bench =>
  ({ quick }) =>
    withEnvironment(async (environment, provider) => {
      const children = quick ? count / 10 : count;
      for (let i = 0; i < (quick ? 1 : 3); i += 1) await fanOut(environment, provider, Math.min(children, 100));
      const runs: FanOut[] = [];
      const floors: number[] = [];
      let size = { rows: 0, commits: 0, bytes: 0 };
      for (let i = 0; i < (quick ? 2 : 7); i += 1) {
        const recording = recordWrites();
        try {
          runs.push(await fanOut(environment, provider, children));
        } finally {
          const writes = recording.stop();
          size = sizeOf(writes);
          floors.push(await floorOf(writes));
        }
      }
      const plain = (what: string, unit: Figure["unit"], value: number): Figure => figure(what, unit, [value]);
      return [
        figure(
          `${children} children, results collected`,
          "ms",
          runs.map((r) => r.totalMs),
          { what: "floor", samples: floors, mark: 4 },
        ),
        figure(
          "until the last result",
          "ms",
          runs.map((r) => r.childrenMs),
        ),
        figure(
          "collecting them",
          "ms",
          runs.map((r) => r.collectMs),
        ),
        figure(
          "processor time",
          "ms",
          runs.map((r) => r.cpuMs),
        ),
        plain("commits", "", size.commits),
        plain("rows per child", "", size.rows / children),
        plain("bytes per child", "B", size.bytes / children),
      ];
    });

export const fanOut200 = fanOutOf(200);
export const fanOut1000 = fanOutOf(1_000);
