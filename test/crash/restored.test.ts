import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import type { LinkStatus } from "../../schemas/link.ts";
import { type Folder, prepareFolders } from "../../services/cli/demo/folders.ts";
import { SocketSide } from "../../services/cli/demo/socket-side.ts";
import type { SideName, Stage } from "../../services/cli/demo/story/stage.ts";
import type { Memory } from "../../services/cli/demo/story/step.ts";
import { story } from "../../services/cli/demo/story/story.ts";
import { wordsWith } from "../../services/cli/demo/story/words.ts";
import { createEnvironment } from "../../services/environment.ts";
import { connectLocal } from "../../services/http/client.ts";
import type { Environment } from "../../services/runtime/environment-api.ts";
import { serveEnvironment } from "../../services/serving.ts";
import { until } from "../support/environments.ts";
import { TestNats } from "../support/nats.ts";

const nats = await TestNats.start();
afterAll(() => nats.end());

/** How an older copy comes back. What each leaves of the store's identity is another thing, see services/store/identity.ts. */
const ways = {
  "as a new file in place of the old": (copy: string, dir: string) => {
    rmSync(dir, { recursive: true });
    cpSync(copy, dir, { recursive: true });
  },
  "over the old file, everything beside it left": (copy: string, dir: string) => {
    for (const file of ["ropewalk.db-wal", "ropewalk.db-shm"]) rmSync(join(dir, file), { force: true });
    cpSync(join(copy, "ropewalk.db"), join(dir, "ropewalk.db"));
  },
  "over the old file, with all that was beside it": (copy: string, dir: string) => {
    for (const file of readdirSync(dir)) if (/^ropewalk\.db-|^lock\.db/.test(file)) rmSync(join(dir, file));
    cpSync(copy, dir, { recursive: true });
  },
} as const;
type Way = keyof typeof ways;

/** The two environments in this process, each of which can be ended, copied, restored and started again. */
class Pair {
  readonly folders: Record<SideName, Folder>;
  readonly stage: Stage;
  readonly memory: Memory = { imports: [] };
  readonly #root: string;
  readonly #running = new Map<SideName, { environment: Environment; stop(): Promise<void> }>();

  private constructor(root: string) {
    this.#root = root;
    const { laptop, box, providers } = prepareFolders(root, { provider: "scripted", script: null, broker: nats.url });
    this.folders = { laptop, box: box as Folder };
    this.stage = { laptop: this.#side("laptop"), box: this.#side("box"), providers, answersAreScripted: true };
  }

  static async start(): Promise<Pair> {
    const root = mkdtempSync(join(tmpdir(), "rw-restored-"));
    const pair = new Pair(root);
    onTestFinished(async () => {
      for (const side of ["laptop", "box"] as const) await pair.stop(side);
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    });
    await pair.run("laptop");
    await pair.run("box");
    return pair;
  }

  async run(side: SideName): Promise<Environment> {
    const environment = await createEnvironment({ dir: this.folders[side].dir });
    const server = await serveEnvironment(environment);
    const stop = async () => {
      await server.close();
      await environment.close();
    };
    this.#running.set(side, { environment, stop });
    return environment;
  }

  async stop(side: SideName): Promise<void> {
    await this.#running.get(side)?.stop();
    this.#running.delete(side);
  }

  environment(side: SideName): Environment {
    return this.#running.get(side)?.environment as Environment;
  }

  link(side: SideName) {
    const link = this.environment(side).links.list()[0];
    if (link === undefined) throw new Error("no link");
    return link;
  }

  /** Takes steps of the story, all of which must hold. */
  async take(...ids: string[]): Promise<void> {
    for (const id of ids) {
      const step = story.find((s) => s.id === id);
      const { checks } = (await step?.take(this.stage, this.memory, wordsWith("3f2a"))) ?? { checks: [{ holds: false, what: id }] };
      expect(checks.filter((c) => !c.holds)).toEqual([]);
    }
  }

  /** Everything that was sent is confirmed. */
  async quiet(): Promise<void> {
    await until(() => this.link("laptop").backlog + this.link("box").backlog === 0, "the link to come to rest");
  }

  /** A copy of a side as it is now; it is started again afterwards. */
  async copy(side: SideName): Promise<string> {
    await this.stop(side);
    const copy = join(this.#root, `${side}-copy`);
    cpSync(this.folders[side].dir, copy, { recursive: true });
    await this.run(side);
    return copy;
  }

  async restore(side: SideName, copy: string, way: Way): Promise<Environment> {
    await this.stop(side);
    ways[way](copy, this.folders[side].dir);
    return this.run(side);
  }

  #side(name: SideName): SocketSide {
    const { dir, environmentId } = this.folders[name];
    return new SocketSide({ name, environmentId, client: connectLocal(dir), waitMs: 20_000, patienceMs: 5_000 });
  }
}

const local = ["conversation", "fork", "fork_run", "switch", "explore", "merge_back", "merged"];
const overLink = ["import", "import_repeat", "go_on", "spawn", "result"];

const diverged = (pair: Pair) =>
  until(
    () => (["laptop", "box"] as const).every((side) => (pair.link(side).status satisfies LinkStatus) === "diverged"),
    "both sides to say that their stores disagree",
  );

/** What is asked over a link that is diverged waits where it was asked: nothing of it is done, nothing of it is lost. */
async function nothingPasses(pair: Pair, imports: number): Promise<void> {
  const laptop = pair.environment("laptop");
  const { threadId } = await laptop.send({ type: "thread.create", title: "Later" });
  const { runId } = await laptop.send({ type: "thread.send", threadId, text: "Name two risks of the release." });
  await laptop.runs.wait(runId);
  const asked = await laptop.send({
    type: "thread.import_to",
    threadId,
    environmentId: pair.folders.box.environmentId,
    handoffId: "later",
  });
  expect(await laptop.links.answer(asked.requestId, { timeoutMs: 1_500 })).toBeNull();
  expect(pair.link("laptop").backlog).toBeGreaterThan(0);
  expect(pair.link("laptop").openRequests.map((r) => r.requestId)).toContain(asked.requestId);
  const there = pair.environment("box").threads.list();
  expect(there.filter((t) => t.historyOrigin === "v1_import").length).toBe(imports);
}

test.each(Object.keys(ways) as Way[])(
  "a laptop's store from before the import, put back %s, ends the link as diverged, visible on both sides",
  async (way) => {
    const pair = await Pair.start();
    await pair.take(...local);
    const copy = await pair.copy("laptop");
    const before = pair.environment("laptop").health().incarnation;
    await pair.take(...overLink);
    await pair.quiet();
    const kept = pair.environment("box").lastCommit;
    const restored = await pair.restore("laptop", copy, way);
    // Only where nothing at all tells of the later life does the store itself not know; its peer does.
    const knows = way !== "over the old file, with all that was beside it";
    expect([restored.health().isNewIncarnation, restored.health().incarnation !== before]).toEqual([knows, knows]);
    await diverged(pair);
    expect(
      restored.threads
        .list()
        .map((t) => t.title)
        .sort(),
    ).toEqual(["A closer look at the first risk", "Release plan"]);
    await nothingPasses(pair, 1);
    // The box's store has grown by what it says of its link, and by nothing else.
    const since = pair.environment("box").changes(kept, 1_000);
    expect(since.filter((c) => c.type !== "actor" || c.kind !== "link")).toEqual([]);
  },
);

test.each(Object.keys(ways) as Way[])(
  "a box's store from before the import, put back %s, ends the link as diverged, visible on both sides",
  async (way) => {
    const pair = await Pair.start();
    await pair.take(...local);
    const copy = await pair.copy("box");
    await pair.take(...overLink);
    await pair.quiet();
    await pair.restore("box", copy, way);
    await diverged(pair);
    await nothingPasses(pair, 0);
  },
);

test.each(Object.keys(ways) as Way[])(
  "a laptop's store that lacks nothing of what its peer has, put back %s, goes on, and nothing is done twice",
  async (way) => {
    const pair = await Pair.start();
    await pair.take(...local, "import");
    await pair.quiet();
    const copy = await pair.copy("laptop");
    await pair.quiet();
    // What it does in between is its own affair: nothing of it has left it.
    const lost = await pair.environment("laptop").send({ type: "thread.create", title: "Never heard of" });
    const restored = await pair.restore("laptop", copy, way);
    expect(restored.threads.get(lost.threadId)).toBeNull();
    await pair.take("import_repeat", "go_on", "spawn", "result");
    await pair.quiet();
    expect([pair.link("laptop").status, pair.link("box").status]).toEqual(["online", "online"]);
    expect(restored.tasks.list().map((t) => [t.status, t.results])).toEqual([["completed", 1]]);
  },
);
