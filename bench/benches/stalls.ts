import { type Bench, bounded, type Figure, figure } from "../figure.ts";
import { withEnvironment } from "../support/environment.ts";
import { fanOut } from "../support/fan-out.ts";
import { importRequest } from "../support/import-request.ts";
import { watchStalls } from "../support/stalls.ts";

/** How long nothing else gets its turn while much is done: the longest stall of several rounds. */
export const stalls: Bench = ({ quick }) =>
  withEnvironment(async (environment, provider) => {
    const rounds = quick ? 1 : 3;
    const [children, messages] = quick ? [100, 200] : [1_000, 2_000];
    await fanOut(environment, provider, 100);
    await environment.send({ type: "thread.import", import: importRequest("warm", messages, 2_048) });
    const during = async (what: string, work: (round: number) => Promise<unknown>): Promise<Figure[]> => {
      const seen = [];
      for (let round = 0; round < rounds; round += 1) {
        const watch = watchStalls();
        await work(round);
        seen.push(watch.stop());
      }
      return [
        bounded(
          `longest stall, ${what}`,
          "ms",
          seen.map((s) => Math.max(s.gapMs, s.histogramMs)),
          50,
        ),
        figure(
          "its own processor time",
          "ms",
          seen.map((s) => s.cpuMs),
        ),
      ];
    };
    return [
      ...(await during(`${children} children`, () => fanOut(environment, provider, children))),
      ...(await during(`import of ${messages} messages`, (round) =>
        environment.send({ type: "thread.import", import: importRequest(`round ${round}`, messages, 2_048) }),
      )),
    ];
  });
