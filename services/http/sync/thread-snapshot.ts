import type { ThreadId } from "../../../schemas/ids.ts";
import type { Task } from "../../../schemas/task.ts";
import type { OlderTurns, ThreadSnapshot, TurnView } from "../../../schemas/thread-view.ts";
import type { ContextTransfer } from "../../../schemas/transfer.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { applyThreadPatch } from "../client/apply-thread.ts";
import { bounds, breathe } from "./bounds.ts";
import { busy } from "./busy.ts";
import { type HistoryPage, type Place, readPage } from "./pages.ts";
import { taskView, threadFacts, threadState, transferView } from "./records.ts";
import { ThreadChanges } from "./thread-changes.ts";
import { turnsOf } from "./turns.ts";

const tries = 5;

/**
 * A thread at the newest commit. What is large is read in slices; what was committed meanwhile is put on top as a patch, in
 * one turn of the event loop with everything else: so all of it is of one commit. Null for an unknown thread.
 */
export async function threadSnapshot(environment: Environment, id: ThreadId, limit: number): Promise<ThreadSnapshot | null> {
  for (let left = tries; left > 0; left -= 1) {
    const began = environment.lastCommit;
    const changes = new ThreadChanges(environment, id, began);
    const page = await readPage(environment, environment.sync.history(id), limit);
    const transfers = await readTransfers(environment, id);
    const tasks = await readTasks(environment, id);
    // From here on nothing else happens.
    const thread = environment.threads.get(id);
    if (thread === null) return null;
    const view: ThreadSnapshot = {
      commit: began,
      thread: threadFacts(thread),
      state: threadState(thread),
      turns: turnsIn(environment, page),
      ...(transfers.length > 0 && { transfers: transfers.map(transferView) }),
      ...(tasks.length > 0 && { tasks: tasks.map(taskView) }),
      ...(page.olderThan !== null && { olderThan: page.olderThan }),
    };
    let step = changes.step();
    while (step === "more") step = changes.step();
    const patch = step === "behind" ? "behind" : changes.patch();
    if (patch === "behind") continue;
    const unfinished = thread.activeRunId === null ? null : environment.runs.progress(thread.activeRunId);
    const whole = patch === null ? { ...view, commit: environment.lastCommit } : applyThreadPatch(view, patch);
    return unfinished === null || unfinished === "" ? whole : { ...whole, unfinished };
  }
  throw busy();
}

/** Turns before an item that a client has, as its snapshot's `olderThan` names it; null when the thread does not show it. */
export async function olderTurns(environment: Environment, id: ThreadId, before: Place, limit: number): Promise<OlderTurns | null> {
  const history = environment.sync.history(id);
  const part = history.find(({ threadId }) => threadId === before.threadId);
  if (part === undefined || before.runOrdinal > part.toOrdinal) return null;
  const page = await readPage(environment, history, limit, before);
  return {
    commit: environment.lastCommit,
    turns: turnsIn(environment, page),
    ...(page.olderThan !== null && { olderThan: page.olderThan }),
  };
}

function turnsIn(environment: Environment, page: HistoryPage): TurnView[] {
  return page.parts.flatMap(({ threadId, inherited, fromOrdinal, toOrdinal, items }) =>
    turnsOf(environment.sync.runs(threadId, fromOrdinal, toOrdinal), items, inherited ? threadId : null),
  );
}

/** The newest to it and from it, by id. */
async function readTransfers(environment: Environment, id: ThreadId): Promise<ContextTransfer[]> {
  const found = new Map<string, ContextTransfer>();
  for (const end of ["target", "source"] as const) {
    let after: ContextTransfer["id"] | undefined;
    for (let left: number = bounds.transfers; left > 0; left -= bounds.sliceRecords) {
      const limit = Math.min(left, bounds.sliceRecords);
      const page = environment.transfers.list({ [end]: id, newestFirst: true, limit, ...(after !== undefined && { after }) });
      for (const transfer of page) found.set(transfer.id, transfer);
      after = page.at(-1)?.id;
      if (page.length < limit) break;
      await breathe();
    }
  }
  return [...found.values()].sort(byId);
}

async function readTasks(environment: Environment, id: ThreadId): Promise<Task[]> {
  const task = environment.threads.get(id)?.task;
  const own = task == null || task.environmentId !== null ? null : environment.tasks.get(task.taskId);
  const children = environment.tasks.list({ parent: id, limit: bounds.tasks });
  await breathe();
  return [...(own === null ? [] : [own]), ...children].sort(byId);
}

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
