import type { RunId, TaskId, ThreadId, TransferId } from "../../../schemas/ids.ts";
import type { ThreadPatch, TurnView } from "../../../schemas/thread-view.ts";
import type { Environment, HistoryPart } from "../../runtime/environment-api.ts";
import type { ChangedActor } from "../../runtime/ports/store.ts";
import { bounds } from "./bounds.ts";
import { Changed } from "./changed.ts";
import { taskView, threadState, transferView } from "./records.ts";
import { type ShownItem, shown, turnsOf } from "./turns.ts";

/** What has changed of one thread's view since a commit; where it stands moves on with every patch that is read. */
export class ThreadChanges {
  readonly #environment: Environment;
  readonly #id: ThreadId;
  readonly #parts: ReadonlyMap<string, HistoryPart>;
  readonly #changed: Changed;
  #commit: number;

  constructor(environment: Environment, id: ThreadId, after: number) {
    this.#environment = environment;
    this.#id = id;
    this.#commit = after;
    // Where a thread's history comes from, and the task that it was spawned for, never change.
    this.#parts = new Map(environment.sync.history(id).map((part) => [part.threadId, part]));
    const task = environment.threads.get(id)?.task;
    const ownTask = task == null || task.environmentId !== null ? null : task.taskId;
    this.#changed = new Changed(environment, after, (change) => this.#isShown(change, ownTask));
  }

  /** Everything up to this commit is in the patches that were read. */
  get commit(): number {
    return this.#commit;
  }

  step(): ReturnType<Changed["step"]> {
    return this.#changed.step();
  }

  /** All that has changed up to now, once `step` has said so: what is there now, whatever it was in between. Null: nothing. */
  patch(): ThreadPatch | "behind" | null {
    const { threads, lastCommit } = this.#environment;
    const after = this.#commit;
    if (after >= lastCommit) return null;
    const items = this.#items(after);
    if (items === "behind") return items;
    this.#commit = lastCommit;
    const changed = this.#changed.take();
    if (changed.length === 0 && items.size === 0) return null;
    const thread = changed.some(({ id }) => id === this.#id) ? threads.get(this.#id) : null;
    const turns = this.#turns(changed, items);
    const transfers = this.#records(changed, "transfer", (id) => this.#environment.transfers.get(id as TransferId)).map(transferView);
    const tasks = this.#records(changed, "task", (id) => this.#environment.tasks.get(id as TaskId)).map(taskView);
    return {
      commit: lastCommit,
      ...(thread !== null && { state: threadState(thread) }),
      ...(turns.length > 0 && { turns }),
      ...(transfers.length > 0 && { transfers }),
      ...(tasks.length > 0 && { tasks }),
    };
  }

  /** New items by the thread that they stand in: what is inherited may still grow, as by a task that is spawned there later. */
  #items(after: number): Map<string, ShownItem[]> | "behind" {
    const items = new Map<string, ShownItem[]>();
    let [count, bytes] = [0, 0];
    for (const { threadId, toOrdinal } of this.#parts.values()) {
      const all = this.#environment.sync.itemsAfter(threadId, after, bounds.patchItems + 1);
      if (all.length > bounds.patchItems) return "behind";
      const its = all.filter(({ runOrdinal }) => runOrdinal <= toOrdinal).map(shown);
      if (its.length > 0) items.set(threadId, its);
      count += its.length;
      bytes += its.reduce((sum, { view }) => sum + JSON.stringify(view).length, 0);
    }
    return count > bounds.patchItems || bytes > bounds.patchBytes ? "behind" : items;
  }

  #turns(changed: readonly ChangedActor[], items: ReadonlyMap<string, ShownItem[]>): TurnView[] {
    const runs = this.#records(changed, "run", (id) => this.#environment.runs.get(id as RunId));
    return [...this.#parts.values()].flatMap(({ threadId, inherited }) => {
      const its = items.get(threadId) ?? [];
      return turnsOf(
        runs.filter((run) => run.threadId === threadId),
        its,
        inherited ? threadId : null,
      );
    });
  }

  /** By id, which is the order in which they were made. */
  #records<T>(changed: readonly ChangedActor[], kind: ChangedActor["kind"], get: (id: string) => T | null): T[] {
    return changed
      .filter((change) => change.kind === kind)
      .map(({ id }) => id)
      .sort()
      .flatMap((id) => get(id) ?? []);
  }

  #isShown({ id, kind, owner, peer, ordinal }: ChangedActor, ownTask: TaskId | null): boolean {
    switch (kind) {
      case "thread":
        return id === this.#id;
      case "run": {
        const part = this.#parts.get(owner ?? "");
        return part !== undefined && (ordinal ?? 0) <= part.toOrdinal;
      }
      case "transfer":
        return owner === this.#id || peer === this.#id;
      case "task":
        return owner === this.#id || id === ownTask;
      // What it does to its thread is told with the thread.
      case "move":
      case "link":
        return false;
    }
  }
}
