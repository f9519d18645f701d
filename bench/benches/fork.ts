import { type Bench, figure } from "../figure.ts";
import { withEnvironmentIn } from "../support/environment.ts";
import { sizeOf } from "../support/floor.ts";
import { withFolder } from "../support/folder.ts";
import { threadOfRuns } from "../support/populate.ts";
import { recordWrites } from "../support/recording.ts";

type Forks = { times: number[]; bytes: number };

async function forksOf(runs: number, count: number): Promise<Forks> {
  return withFolder(async (dir) => {
    const threadId = await threadOfRuns(dir, runs);
    return withEnvironmentIn(dir, async (environment) => {
      const times: number[] = [];
      let bytes = 0;
      for (let i = 0; i < count + 20; i += 1) {
        const recording = recordWrites();
        const began = performance.now();
        await environment.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
        if (i >= 20) times.push(performance.now() - began);
        bytes = sizeOf(recording.stop()).bytes;
      }
      return { times, bytes };
    });
  });
}

/** Forking copies nothing: a long thread costs what a short one does. */
export const fork: Bench = async ({ quick }) => {
  const [few, many, count] = quick ? [10, 1_000, 20] : [10, 10_000, 200];
  const short = await forksOf(few, count);
  const long = await forksOf(many, count);
  const written = figure(`bytes written by a fork of ${many} runs`, "B", [long.bytes], { what: `${few} runs`, samples: [short.bytes] });
  return [
    figure(`fork of a thread of ${many} runs`, "ms", long.times, { what: `${few} runs`, samples: short.times, mark: 1.3 }),
    { ...written, mark: { text: "equal", met: Math.abs(long.bytes - short.bytes) <= 16 } },
  ];
};
