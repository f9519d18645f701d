import { randomBytes } from "node:crypto";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectLocal, type LocalClient } from "../../http/client.ts";
import { type Broker, startBroker } from "./broker.ts";
import { Cleanup } from "./cleanup.ts";
import { type DemoProvider, type Folder, prepareFolders } from "./folders.ts";
import { type EnvironmentProcess, startEnvironmentProcess } from "./processes.ts";
import { bareRecord, type DemoRecord, recordOf } from "./record.ts";
import { SocketSide } from "./socket-side.ts";
import type { Side, SideName, Stage } from "./story/stage.ts";
import type { Memory, Step } from "./story/step.ts";
import { type StepTold, tellStory } from "./story/story.ts";
import { wordsWith } from "./story/words.ts";

export type DemoOptions = {
  provider: DemoProvider;
  /** Leaves the folder as it is at the end. */
  keep: boolean;
  /** Another script for the scripted providers, as JSON. */
  script: unknown;
  /** Ends it: everything is cleaned up, then the returned promise rejects with the signal's reason. */
  signal: AbortSignal;
  /** Everything is up; the broker is null where there is none. */
  started(about: { root: string; broker: Broker | null; environments: { name: SideName; pid: number }[] }): void;
  starting(step: Step): void;
  told(step: StepTold): void;
};

/** A scripted answer takes milliseconds; a model may think. */
const waitMs: Record<DemoProvider, number> = { scripted: 30_000, codex: 300_000 };

/** Tells the story with real processes in a folder of its own, and takes everything away again. */
export async function runDemo(options: DemoOptions): Promise<DemoRecord> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "ropewalk-demo-")));
  const cleanup = new Cleanup();
  const work = play(options, root, cleanup);
  try {
    return await unlessAborted(options.signal, work);
  } finally {
    await cleanup.run();
    // Given up, it ends as soon as it notices that the processes are gone.
    await work.catch(() => {});
    if (!options.keep) rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function play(options: DemoOptions, root: string, cleanup: Cleanup): Promise<DemoRecord> {
  const { provider, signal } = options;
  const found = await startBroker(join(root, "nats"));
  const [broker, missing] = "server" in found ? [found, null] : [null, found];
  if (broker !== null) cleanup.add(() => broker.server.stop());
  signal.throwIfAborted();

  const folders = prepareFolders(root, { provider, script: options.script, broker: broker?.server.url ?? null });
  const present = folders.box === null ? [folders.laptop] : [folders.laptop, folders.box];
  const clients = present.map((folder) => connectLocal(folder.dir));
  cleanup.add(() => {
    for (const client of clients) client.close();
  });
  const processes = await startAll(present, signal, cleanup);
  signal.throwIfAborted();
  options.started({
    root,
    broker,
    environments: present.map(({ name }, at) => ({ name, pid: processes[at]?.pid ?? 0 })),
  });

  const [laptop, box] = present.map((folder, at) => sideOf(folder, clients[at] as LocalClient, waitMs[provider]));
  const stage: Stage = {
    laptop: laptop as Side,
    box: box ?? null,
    providers: folders.providers,
    answersAreScripted: provider === "scripted",
  };
  const memory: Memory = { imports: [] };
  const { starting, told } = options;
  const words = wordsWith(randomBytes(2).toString("hex"));
  const steps = await tellStory({ stage, words, memory, starting, told, signal });
  try {
    return await recordOf(stage, memory, steps, missing);
  } catch (error) {
    // What kept a step from its end (an environment that is gone) may keep this from being read; the step says so.
    if (steps.every((step) => step.ok)) throw error;
    return { ...bareRecord(steps, missing), imports: [], transfers: [], lineage: [], tasks: [] };
  }
}

/** Those that come up are ended again also when another does not. */
async function startAll(folders: readonly Folder[], signal: AbortSignal, cleanup: Cleanup): Promise<EnvironmentProcess[]> {
  const starting = folders.map((folder) => startEnvironmentProcess(folder.dir, signal));
  cleanup.add(async () => {
    const started = await Promise.allSettled(starting);
    await Promise.all(started.map((one) => (one.status === "fulfilled" ? one.value.stop() : undefined)));
  });
  return Promise.all(starting);
}

function sideOf({ name, environmentId }: Folder, client: LocalClient, wait: number): Side {
  return new SocketSide({ name, environmentId, client, waitMs: wait });
}

/** What `work` comes to, or at once the signal's reason; what it throws after that is of no interest. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  work.catch(() => {});
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", stop));
}
