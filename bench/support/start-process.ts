import { withEnvironmentIn } from "./environment.ts";

/** Started by the bench of start-up, in a process of its own: opens an environment, reads its first page, tells what it took. */
const dir = process.argv[2] ?? "";
const began = performance.now();
await withEnvironmentIn(dir, async (environment) => {
  const first = environment.threads.list({ limit: 50 }).length;
  const ms = performance.now() - began;
  process.send?.({ ms, rssMB: process.memoryUsage().rss / 2 ** 20, first });
});
process.disconnect?.();
