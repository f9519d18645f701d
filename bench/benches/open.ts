import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { serveLocal } from "../../services/http/server.ts";
import { type Bench, bounded, type Figure, figure } from "../figure.ts";
import { withEnvironmentIn } from "../support/environment.ts";
import { withFolder } from "../support/folder.ts";
import { manyThreads, threadOfRuns } from "../support/populate.ts";
import type { Read, ReadResult } from "../support/reader-process.ts";
import { watchStalls } from "../support/stalls.ts";

/** How long nothing else gets its turn while a program reads a long list of threads, and a long thread, to their ends. */
export const open: Bench = ({ quick }) =>
  withFolder(async (dir) => {
    const [rounds, threads, runs, itemsPerRun] = quick ? [1, 1_000, 100, 10] : [3, 10_000, 10_000, 10];
    const threadId = await threadOfRuns(dir, runs, itemsPerRun);
    await manyThreads(dir, threads, threads);
    return withEnvironmentIn(dir, async (environment) => {
      const server = await serveLocal(environment);
      const reader = fork(fileURLToPath(new URL("../support/reader-process.ts", import.meta.url)), [dir], { execArgv: [] });
      try {
        const read = (what: Read["what"]) => ask(reader, { what, threadId });
        // Loaded and compiled once, as in a program that has run for a while.
        for (const what of ["list", "thread", "references", "list view", "thread view"] as const) await read(what);
        const figures: Figure[] = [];
        for (const [what, words] of [
          ["list", "threads in the list"],
          ["thread", "items, runs and checkpoints of a thread"],
          ["references", "candidates for short references"],
          ["list view", "lines of the list's view, page by page"],
          ["thread view", "turns of a thread's view, page by page"],
        ] as const) {
          const seen = [];
          for (let round = 0; round < rounds; round += 1) {
            const watch = watchStalls();
            const { records, ms } = await read(what);
            seen.push({ ...watch.stop(), records, ms });
          }
          const stalls = seen.map((s) => Math.max(s.gapMs, s.histogramMs));
          figures.push(bounded(`longest stall, ${seen[0]?.records} ${words}`, "ms", stalls, 50));
          figures.push(
            figure(
              "its own processor time",
              "ms",
              seen.map((s) => s.cpuMs),
            ),
          );
          figures.push(
            figure(
              "until all are read",
              "ms",
              seen.map((s) => s.ms),
            ),
          );
        }
        return figures;
      } finally {
        reader.disconnect();
        await server.close();
      }
    });
  });

function ask(reader: ChildProcess, read: Read): Promise<ReadResult> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`the reader ended with ${code}`));
    reader.once("exit", ended);
    reader.once("message", (result) => {
      reader.off("exit", ended);
      resolve(result as ReadResult);
    });
    reader.send(read);
  });
}
