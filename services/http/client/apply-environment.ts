import type { EnvironmentPatch, EnvironmentSnapshot, OlderThreads } from "../../../schemas/environment-view.ts";
import { withRecords } from "./apply-records.ts";

/** A client's view of an environment after a patch, as {@link applyThreadPatch} for a thread's. */
export function applyEnvironmentPatch(view: EnvironmentSnapshot, patch: EnvironmentPatch): EnvironmentSnapshot {
  if (patch.commit < view.commit) return view;
  return {
    ...view,
    commit: patch.commit,
    ...withThreads(view, patch),
    ...withTasks(view, patch),
    ...withRecords("links", view.links, patch.links),
  };
}

/** The view with an older page behind it, as it was asked for with the view's `olderThan`. */
export function withOlderThreads(view: EnvironmentSnapshot, page: OlderThreads): EnvironmentSnapshot {
  const { olderThan: _, ...rest } = view;
  const threads = [...view.threads, ...page.threads];
  return { ...rest, threads, ...(page.olderThan != null && { olderThan: page.olderThan }) };
}

function withThreads(view: EnvironmentSnapshot, { threads: changed = [] }: EnvironmentPatch) {
  if (changed.length === 0) return {};
  const byId = new Map(view.threads.map((line) => [line.id, line]));
  // What is older than what the client has comes with an older page.
  const oldest = view.olderThan == null ? Number.NEGATIVE_INFINITY : (view.threads.at(-1)?.number ?? Number.NEGATIVE_INFINITY);
  for (const line of changed) {
    if (line.status === "deleted") byId.delete(line.id);
    else if (byId.has(line.id) || line.number > oldest) byId.set(line.id, line);
  }
  return { threads: [...byId.values()].sort((a, b) => b.number - a.number) };
}

function withTasks(view: EnvironmentSnapshot, { tasks: changed = [] }: EnvironmentPatch) {
  if (changed.length === 0) return {};
  const { tasks } = withRecords("tasks", view.tasks, changed) as { tasks: NonNullable<EnvironmentSnapshot["tasks"]> };
  return { tasks: tasks.filter((task) => task.endedAt == null) };
}
