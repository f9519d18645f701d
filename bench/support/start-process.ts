import { withEnvironmentIn } from "./environment.ts";

/**
 * Started in a process of its own: opens an environment, reads its first page of threads, tells what it took; with `all`
 * reads every page.
 */
const [dir = "", how] = process.argv.slice(2);
const began = performance.now();
await withEnvironmentIn(dir, async (environment) => {
  environment.threads.list({ limit: 50 });
  const ms = performance.now() - began;
  if (how === "all") {
    let page = environment.threads.list({ limit: 500 });
    for (let after = page.at(-1)?.id; after !== undefined; after = page.at(-1)?.id) page = environment.threads.list({ limit: 500, after });
  }
  process.send?.({ ms, rssMB: process.memoryUsage().rss / 2 ** 20 });
});
process.disconnect?.();
