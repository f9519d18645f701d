import { type Bench, figure } from "../figure.ts";
import { withEnvironment } from "../support/environment.ts";
import { floorOf, sizeOf } from "../support/floor.ts";
import { recordWrites } from "../support/recording.ts";

/** Runs of one thread, each sent when the one before it has ended: every one a message, a turn, an item, durable. */
export const steps: Bench = ({ quick }) =>
  withEnvironment(async (environment) => {
    const count = quick ? 20 : 100;
    const { threadId } = await environment.send({ type: "thread.create" });
    const step = async (n: number) => {
      const { runId } = await environment.send({ type: "thread.send", threadId, text: `Step ${n}` });
      const run = await environment.runs.wait(runId);
      if (run?.status !== "completed") throw new Error(`step ${n} is ${run?.status}`);
    };
    for (let i = 0; i < 50; i += 1) await step(i);
    const times: number[] = [];
    const floors: number[] = [];
    const cpus: number[] = [];
    let size = { rows: 0, commits: 0, bytes: 0 };
    for (let round = 0; round < (quick ? 2 : 7); round += 1) {
      const recording = recordWrites();
      const cpu = process.cpuUsage();
      const began = performance.now();
      for (let i = 0; i < count; i += 1) await step(i);
      times.push(performance.now() - began);
      const { user, system } = process.cpuUsage(cpu);
      cpus.push((user + system) / 1_000);
      const writes = recording.stop();
      size = sizeOf(writes);
      floors.push(await floorOf(writes));
    }
    return [
      figure(`${count} dependent steps`, "ms", times, { what: "floor", samples: floors, mark: 4 }),
      figure("processor time", "ms", cpus),
      figure("commits per step", "", [size.commits / count]),
      figure("rows per step", "", [size.rows / count]),
    ];
  });
