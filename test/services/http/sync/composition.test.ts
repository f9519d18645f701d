import fc from "fast-check";
import { expect, test } from "vitest";
import { EnvironmentSnapshot } from "../../../../schemas/environment-view.ts";
import type { ThreadId } from "../../../../schemas/ids.ts";
import { ThreadSnapshot } from "../../../../schemas/thread-view.ts";
import { applyEnvironmentPatch } from "../../../../services/http/client/apply-environment.ts";
import { applyThreadPatch } from "../../../../services/http/client/apply-thread.ts";
import { environmentSnapshot } from "../../../../services/http/sync/environment-snapshot.ts";
import { threadSnapshot } from "../../../../services/http/sync/thread-snapshot.ts";
import { lives, RandomLife } from "../../../support/random-life.ts";
import { followEnvironment, followThread, isSynchronized } from "./rig.ts";

const most = 1_000;

/** A client that has read a snapshot once, and from then on lives by patches alone. */
class Watcher {
  readonly id: ThreadId | null;
  #view: ThreadSnapshot | EnvironmentSnapshot;

  constructor(id: ThreadId | null, view: ThreadSnapshot | EnvironmentSnapshot) {
    this.id = id;
    this.#view = view;
  }

  static async begin(life: RandomLife, id: ThreadId | null): Promise<Watcher> {
    return new Watcher(id, await snapshotOf(life, id));
  }

  /** Connects with what it has, reads what it missed, and leaves. */
  async visit(life: RandomLife): Promise<void> {
    const lines = this.id === null ? followEnvironment(life.env, this.#view.commit) : followThread(life.env, this.id, this.#view.commit);
    for (const line of await lines.until(isSynchronized)) this.#take(line);
    await lines.close();
  }

  #take(line: { type: string; commit: number }): void {
    if (line.type === "resnapshot") throw new Error("nothing here is so far behind");
    if (line.type !== "patch") return;
    this.#view =
      this.id === null
        ? applyEnvironmentPatch(this.#view as EnvironmentSnapshot, line)
        : applyThreadPatch(this.#view as ThreadSnapshot, line);
  }

  async expectWhole(life: RandomLife): Promise<void> {
    const now = await snapshotOf(life, this.id);
    if (this.id === null) expect({ ...EnvironmentSnapshot.parse(this.#view), commit: now.commit }).toEqual(EnvironmentSnapshot.parse(now));
    else expect({ ...ThreadSnapshot.parse(this.#view), commit: now.commit }).toEqual(ThreadSnapshot.parse(now));
  }
}

/** A client that stays connected while things happen, and comes back whenever the connection breaks. */
class Follower {
  readonly id: ThreadId;
  #view: ThreadSnapshot;
  #stopped = false;
  readonly #reading: Promise<void>;

  private constructor(life: RandomLife, id: ThreadId, view: ThreadSnapshot, coalesceMs: number) {
    this.id = id;
    this.#view = view;
    this.#reading = this.#read(life, coalesceMs);
  }

  static async begin(life: RandomLife, id: ThreadId, coalesceMs: number): Promise<Follower> {
    return new Follower(life, id, (await snapshotOf(life, id)) as ThreadSnapshot, coalesceMs);
  }

  async #read(life: RandomLife, coalesceMs: number): Promise<void> {
    while (!this.#stopped) {
      try {
        const lines = followThread(life.env, this.id, this.#view.commit, { coalesceMs, heartbeatMs: 40 });
        await lines.until((line) => {
          if (line.type === "patch") this.#view = applyThreadPatch(this.#view, line);
          return this.#stopped;
        });
        await lines.close();
      } catch (error) {
        // The environment under it was closed, to be started anew.
        if (!/not open|closed|finalized/.test(String(error))) throw error;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }

  async expectWhole(life: RandomLife): Promise<void> {
    const now = ThreadSnapshot.parse(await snapshotOf(life, this.id));
    await expect.poll(() => ({ ...ThreadSnapshot.parse(this.#view), commit: now.commit }), { timeout: 10_000 }).toEqual(now);
    this.#stopped = true;
    await this.#reading;
  }
}

async function snapshotOf(life: RandomLife, id: ThreadId | null): Promise<ThreadSnapshot | EnvironmentSnapshot> {
  const view = id === null ? await environmentSnapshot(life.env, most) : await threadSnapshot(life.env, id, most);
  if (view === null) throw new Error(`${id} is not there`);
  return view;
}

test("a snapshot at a commit and the patches after it are the snapshot at any later commit, whatever is done and whenever a client comes back", {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(lives, fc.array(fc.nat(5), { minLength: 20, maxLength: 20 }), async (groups, rhythm) => {
      const life = await RandomLife.begin();
      const followers = [await Follower.begin(life, life.threads[0] as ThreadId, (rhythm[0] ?? 0) * 15)];
      const watchers = [await Watcher.begin(life, null), await Watcher.begin(life, life.threads[0] ?? null)];
      for (const [n, group] of groups.entries()) {
        await life.live([group]);
        // Each comes back in its own time; who is new begins now.
        for (const [w, watcher] of watchers.entries())
          if (((rhythm[(n + w) % rhythm.length] ?? 0) + w) % 3 === 0) await watcher.visit(life);
        const newest = life.threads.at(-1) as ThreadId;
        if (followers.length < 4 && !followers.some(({ id }) => id === newest))
          followers.push(await Follower.begin(life, newest, (rhythm[n % rhythm.length] ?? 0) * 15));
        for (const id of life.threads) if (!watchers.some((watcher) => watcher.id === id)) watchers.push(await Watcher.begin(life, id));
        if (n === Math.floor(groups.length / 2)) await changeMarks(life);
      }
      await life.settle();
      for (const watcher of watchers) {
        await watcher.visit(life);
        await watcher.expectWhole(life);
      }
      for (const follower of followers) await follower.expectWhole(life);
      await life.env.close();
    }),
    { numRuns: Number(process.env.ROPEWALK_RUNS ?? 12), endOnFailure: true, interruptAfterTimeLimit: 120_000 },
  );
});

/** What random lives do not do: marks, names, deletions. */
async function changeMarks(life: RandomLife): Promise<void> {
  const last = life.threads.at(-1) as ThreadId;
  await life.env.dispatch({ type: "thread.mark", threadId: last, mark: "pinned", on: true });
  await life.env.dispatch({ type: "thread.rename", threadId: last, title: "renamed" });
  const idle = life.threads.find((id, n) => n > 0 && id !== last && life.env.threads.get(id)?.status === "idle");
  if (idle !== undefined) await life.env.dispatch({ type: "thread.delete", threadId: idle });
}
