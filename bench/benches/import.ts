import { type Bench, figure } from "../figure.ts";
import { withEnvironment } from "../support/environment.ts";
import { floorOf } from "../support/floor.ts";
import { importRequest } from "../support/import-request.ts";
import { recordWrites } from "../support/recording.ts";

/** An import of 2,000 messages of 2 KB, from the call to its commit, beside the same rows and bytes in one transaction. */
export const importing: Bench = ({ quick }) =>
  withEnvironment(async (environment) => {
    const [count, rounds] = quick ? [200, 2] : [2_000, 9];
    const times: number[] = [];
    const floors: number[] = [];
    for (let round = -2; round < rounds; round += 1) {
      const request = importRequest(`round ${round}`, count, 2_048);
      const recording = recordWrites();
      const began = performance.now();
      await environment.send({ type: "thread.import", import: request });
      const took = performance.now() - began;
      const writes = recording.stop();
      if (round < 0) continue;
      times.push(took);
      floors.push(await floorOf(writes));
    }
    return [figure(`import of ${count} messages of 2 KB`, "ms", times, { what: "one transaction", samples: floors, mark: 3 })];
  });
