import type { EnvironmentPatch } from "../../../schemas/environment-view.ts";
import type { LinkId, TaskId, ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { Changed } from "./changed.ts";
import { lineOf } from "./line.ts";
import type { LiveSource } from "./live.ts";
import { linkLine, taskView } from "./records.ts";

/** What has changed of the environment's list since a commit. */
export class EnvironmentChanges implements LiveSource {
  readonly #environment: Environment;
  readonly #changed: Changed;
  #commit: number;
  readonly isWriting = false;

  constructor(environment: Environment, after: number) {
    this.#environment = environment;
    this.#commit = after;
    this.#changed = new Changed(environment, after, ({ kind }) => kind !== "transfer");
  }

  get commit(): number {
    return this.#commit;
  }

  step(): ReturnType<Changed["step"]> {
    return this.#changed.step();
  }

  patch(): EnvironmentPatch | null {
    const { lastCommit, threads, tasks, links, sync } = this.#environment;
    if (this.#commit >= lastCommit) return null;
    this.#commit = lastCommit;
    const changed = this.#changed.take();
    const ids = (kind: string) => changed.filter((change) => change.kind === kind).map(({ id }) => id);
    // What a thread's active run does stands in the thread's line.
    const threadIds = new Set([...ids("thread"), ...changed.flatMap(({ kind, owner }) => (kind === "run" ? (owner ?? []) : []))]);
    const lines = [...threadIds].flatMap((id) => {
      const thread = threads.get(id as ThreadId);
      return thread === null ? [] : lineOf(this.#environment, thread, sync.threadNumber(thread.id));
    });
    const changedTasks = ids("task").flatMap((id) => tasks.get(id as TaskId) ?? []);
    const changedLinks = ids("link").flatMap((id) => links.get(id as LinkId) ?? []);
    if (lines.length + changedTasks.length + changedLinks.length === 0) return null;
    return {
      commit: lastCommit,
      ...(lines.length > 0 && { threads: lines }),
      ...(changedTasks.length > 0 && { tasks: changedTasks.map(taskView) }),
      ...(changedLinks.length > 0 && { links: changedLinks.map(linkLine) }),
    };
  }
}
