import type { EnvironmentSnapshot, OlderThreads } from "../../../schemas/environment-view.ts";
import type { ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { applyEnvironmentPatch } from "../client/apply-environment.ts";
import { bounds, breathe } from "./bounds.ts";
import { busy } from "./busy.ts";
import { EnvironmentChanges } from "./environment-changes.ts";
import { lineOf } from "./line.ts";
import { linkLine, taskView } from "./records.ts";

const tries = 5;

/** The environment's list at the newest commit; read in slices, with what was committed meanwhile on top. */
export async function environmentSnapshot(environment: Environment, limit: number): Promise<EnvironmentSnapshot> {
  for (let left = tries; left > 0; left -= 1) {
    const began = environment.lastCommit;
    const changes = new EnvironmentChanges(environment, began);
    const { threads, olderThan } = await olderThreads(environment, limit);
    const tasks = environment.tasks
      .list({ open: true, limit: bounds.tasks })
      .map(taskView)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const links = environment.links.list().map(linkLine);
    const view: EnvironmentSnapshot = {
      commit: began,
      threads,
      ...(tasks.length > 0 && { tasks }),
      ...(links.length > 0 && { links }),
      ...(olderThan != null && { olderThan }),
    };
    let step = changes.step();
    while (step === "more") step = changes.step();
    const patch = step === "behind" ? "behind" : changes.patch();
    if (patch === "behind") continue;
    return patch === null ? { ...view, commit: environment.lastCommit } : applyEnvironmentPatch(view, patch);
  }
  throw busy();
}

/** Threads older than one, newest first; of the newest commit as far as each slice goes. */
export async function olderThreads(environment: Environment, limit: number, before?: ThreadId): Promise<OlderThreads> {
  const lines: OlderThreads["threads"] = [];
  let after = before;
  while (lines.length < limit) {
    const wanted = Math.min(limit - lines.length, bounds.sliceRecords);
    const slice = environment.sync.threads({ limit: wanted, ...(after !== undefined && { olderThan: after }) });
    for (const { thread, number } of slice) lines.push(lineOf(environment, thread, number));
    after = slice.at(-1)?.thread.id ?? after;
    if (slice.length < wanted) return { commit: environment.lastCommit, threads: lines };
    await breathe();
  }
  const isLast = environment.sync.threads({ limit: 1, ...(after !== undefined && { olderThan: after }) }).length === 0;
  return { commit: environment.lastCommit, threads: lines, ...(!isLast && after !== undefined && { olderThan: after }) };
}
