import { isEndedRun } from "../../../schemas/run.ts";
import { isEndedTask } from "../../../schemas/task.ts";
import type { TransferStatus } from "../../../schemas/transfer.ts";
import type { Runs, Tasks, Transfers } from "../environment-api.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { asTask, asTransfer, openTaskStatuses, runFrom, taskFrom, transferFrom } from "../typed-actors.ts";
import type { Commits } from "./commits.ts";
import { commitsOf, waitFor } from "./waiting.ts";

const defaultWaitMs = 60_000;

export function runReads(store: Store, commits: Commits, clock: Clock): Runs {
  return {
    get: (id) => runFrom(store, id),
    progress: (id) => store.progress(id),
    wait: (id, { timeoutMs = defaultWaitMs, until = "ended" } = {}) =>
      waitFor(
        commitsOf(commits, id),
        clock,
        timeoutMs,
        () => runFrom(store, id),
        (run) => run === null || isEndedRun(run.status) || (until === "ended_or_waiting" && run.status === "waiting"),
      ),
  };
}

export function transferReads(store: Store): Transfers {
  return {
    list: ({ target, source, limit, newestFirst, after } = {}) =>
      store
        .actorsBy({
          kind: "transfer",
          ...(target === undefined ? {} : { owner: target }),
          ...(source === undefined ? {} : { peer: source }),
          ...(limit === undefined ? {} : { limit }),
          ...(newestFirst === undefined ? {} : { newestFirst }),
          ...(after === undefined ? {} : { after }),
        })
        .map(asTransfer),
    get: (id) => transferFrom(store, id),
    history: (id) =>
      store
        .journal({ actorId: id, limit: 10_000 })
        .filter((j) => j.verdict === "applied")
        .map((j) => ({
          commit: j.commit,
          at: (j.event as unknown as { at: number }).at,
          event: j.event.type,
          from: j.from as TransferStatus | null,
          to: j.to as TransferStatus,
        })),
    handoff: (id) => store.handoff(id),
    handoffsOf: (id) => store.handoffsOf(id),
  };
}

export function taskReads(store: Store, commits: Commits, clock: Clock): Tasks {
  return {
    list: ({ parent, open, limit, newestFirst = true, after } = {}) =>
      store
        .actorsBy({
          kind: "task",
          newestFirst,
          ...(after === undefined ? {} : { after }),
          ...(parent === undefined ? {} : { owner: parent }),
          ...(open === true ? { statuses: openTaskStatuses } : {}),
          ...(limit === undefined ? {} : { limit }),
        })
        .map(asTask),
    get: (id) => taskFrom(store, id),
    wait: (id, { timeoutMs = defaultWaitMs } = {}) =>
      waitFor(
        commitsOf(commits, id),
        clock,
        timeoutMs,
        () => taskFrom(store, id),
        (task) => task === null || isEndedTask(task.status),
      ),
  };
}
