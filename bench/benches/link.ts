import { type Bench, figure, median } from "../figure.ts";
import { turns } from "../support/environment.ts";
import { startLinkStore } from "../support/link-store.ts";
import { withNats, withSides } from "../support/linked.ts";
import { rawLatencies, rawThroughput } from "../support/raw-jetstream.ts";

const bytes = 512;

/** Messages from one store into the other, each applied once, beside bare JetStream on the same server. */
export const link: Bench = ({ quick }) =>
  withNats((url) =>
    withSides(url, async (left, right) => {
      const [a, b] = [await startLinkStore(left), await startLinkStore(right)];
      try {
        await turns("the link", () => a.isOnline && b.isOnline);
        const [count, rounds] = quick ? [500, 2] : [10_000, 5];
        const [ours, raw]: [number[], number[]] = [[], []];
        for (let round = -1; round < rounds; round += 1) {
          const before = b.receivedNumber;
          const began = performance.now();
          for (let i = 0; i < count; i += 500) a.write(Math.min(500, count - i), bytes);
          await b.received(before + count);
          const took = performance.now() - began;
          const bare = await rawThroughput(url, count, bytes);
          if (round < 0) continue;
          ours.push((count / took) * 1_000);
          raw.push((count / bare) * 1_000);
        }
        const latencies: number[] = [];
        for (let i = 0; i < (quick ? 20 : 300); i += 1) {
          const before = b.receivedNumber;
          const began = performance.now();
          a.write(1, bytes);
          await b.received(before + 1);
          if (i >= 10) latencies.push(performance.now() - began);
        }
        const acks = await rawLatencies(url, quick ? 20 : 300, bytes);
        const one = figure("one message, commit to commit", "ms", latencies, { what: "publish and ack", samples: acks, mark: 4 });
        return [
          figure(`messages of ${bytes} B applied`, "/s", ours, { what: "bare JetStream", samples: raw, moreIsBetter: true, mark: 2 }),
          { ...one, spread: [median(latencies), Math.max(...latencies)] as const },
        ];
      } finally {
        await a.stop();
        await b.stop();
      }
    }),
  );
