import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Bench, bounded, figure } from "../figure.ts";
import { linkOnline, watchIdle, withBare, withUp } from "../support/idle.ts";
import { type Side, withNats, withSides } from "../support/linked.ts";
import { manyThreads } from "../support/populate.ts";

const writeConfig = ({ dir, config }: Side) =>
  writeFileSync(
    join(dir, "config.json"),
    JSON.stringify({ providers: { scripted: { kind: "scripted" } }, defaultProvider: "scripted", limits: {}, ...config }),
    { mode: 0o600 },
  );

/** Two environments that are linked and have nothing to do, one with many threads, beside a bare process in the same minute. */
export const idle: Bench = ({ quick }) =>
  withNats((url) =>
    withSides(url, async (a, b) => {
      const [threads, settleMs, idleMs] = quick ? [500, 3_000, 5_000] : [10_000, 30_000, 60_000];
      await manyThreads(a.dir, threads, 1_000);
      for (const side of [a, b]) writeConfig(side);
      return withUp(a.dir, (pid) =>
        withUp(b.dir, (peer) =>
          withBare(async (bare) => {
            await Promise.all([linkOnline(a.dir), linkOnline(b.dir)]);
            // What a start has still to do, and what the links have to ask each other, is over then.
            await delay(settleMs);
            const [ours, peers, floor] = await watchIdle([pid, peer, bare], idleMs);
            if (ours === undefined || peers === undefined || floor === undefined) throw new Error("nothing was seen");
            const seconds = idleMs / 1_000;
            const beside = { what: "a bare Node", value: floor.percent };
            return [
              { ...bounded(`processor, ${threads} threads, a link, ${seconds} s idle`, "%", [ours.percent], 0.5), beside },
              { ...bounded("processor, its peer without threads", "%", [peers.percent], 0.5), beside },
              { ...figure("wake-ups of its threads", "/s", [ours.wakeups]), beside: { what: "a bare Node", value: floor.wakeups } },
            ];
          }),
        ),
      );
    }),
  );
