import { type Bench, bounded, figure, median } from "../figure.ts";
import { withFolder } from "../support/folder.ts";
import { manyThreads } from "../support/populate.ts";
import { type Started, start } from "../support/start.ts";

/** Opening an environment with much in it: recovery and a first page of threads, in a fresh process, in turn with a small one. */
export const startUp: Bench = ({ quick }) =>
  withFolder((small) =>
    withFolder(async (large) => {
      const [threads, items, rounds] = quick ? [1_000, 20_000, 2] : [10_000, 1_000_000, 9];
      await manyThreads(small, 100, 1_000);
      await manyThreads(large, threads, items);
      const starts: { small: Started; large: Started }[] = [];
      await start(large);
      for (let i = 0; i < rounds; i += 1) starts.push({ small: await start(small), large: await start(large) });
      const rss = starts.map((s) => s.large.rssMB);
      return [
        figure(
          `start with ${threads} threads and ${items} items`,
          "ms",
          starts.map((s) => s.large.ms),
          {
            what: "100 threads",
            samples: starts.map((s) => s.small.ms),
            mark: 1.5,
          },
        ),
        bounded("resident memory", "MB", rss, 150),
        figure("resident memory with 100 threads", "MB", [median(starts.map((s) => s.small.rssMB))]),
      ];
    }),
  );
