import { assign, enqueueActions, setup } from "xstate";
import type { Emission } from "../schemas/emission.ts";
import type { ThreadCreated, ThreadEvent } from "../schemas/events/thread.ts";
import type { ThreadContext } from "../schemas/thread.ts";
import { deletedError, resultNews } from "./thread-news.ts";

/** What a person may do with a thread that lives here, at work or not. */
const looksAfter = {
  "thread.provider_preferred": { actions: "prefer" },
  "thread.task_attached": { actions: "attachTask" },
  "thread.renamed": { actions: "rename" },
  "thread.adopted": { actions: "adopt" },
  "thread.modes_set": { actions: "setModes" },
  "thread.marked": { actions: "mark" },
  "thread.unmarked": [{ guard: "isMarked", actions: "unmark" }, {}],
  "thread.placed": { actions: "place" },
  "thread.relocated": { actions: ["relocate", "restoreFiles"] },
  "thread.text_purged": { actions: "notePurged" },
} as const;

/** A conversation (contract §2): which run has its turn, who waits, what it was last served by, what is stable. */
export const threadMachine = setup({
  types: {
    context: {} as ThreadContext,
    events: {} as ThreadEvent,
    input: {} as ThreadCreated,
    emitted: {} as Emission,
  },
  guards: {
    /** A move looks before the next message has its turn. */
    activeEndedAndRests: ({ context, event }) =>
      event.type === "thread.run_ended" && event.runId === context.activeRunId && (context.queue.length === 0 || context.moving != null),
    activeEnded: ({ context, event }) => event.type === "thread.run_ended" && event.runId === context.activeRunId,
    queuedEnded: ({ context, event }) => event.type === "thread.run_ended" && context.queue.includes(event.runId),
    stops: ({ event }) => event.type === "thread.deleted" && event.stop === true,
    isActive: ({ context, event }) => "runId" in event && event.runId === context.activeRunId,
    hasUndone: ({ context }) => context.undone != null,
    isRestoring: ({ context, event }) => event.type === "thread.files_restored" && context.restoring?.keepAs === event.keepAs,
    isNews: ({ context, event }) => event.type === "thread.result_arrived" && (event.wake || context.moving != null),
    hasQueue: ({ context }) => context.queue.length > 0,
    isAwaited: ({ context, event }) => "moveId" in event && context.moving === event.moveId,
    isAwaitedWithQueue: ({ context, event }) => "moveId" in event && context.moving === event.moveId && context.queue.length > 0,
    isMovingThere: ({ context, event }) => event.type === "thread.departed" && context.moving === event.to.moveId,
    isFree: ({ context }) => context.moving == null,
    staysOpen: ({ event }) => "mark" in event && (event.mark === "archived" || event.mark === "read"),
    staysOpenAndIsMarked: ({ context, event }) =>
      event.type === "thread.unmarked" && (event.mark === "archived" || event.mark === "read") && context.marks[event.mark] !== undefined,
    isAncestor: ({ event }) => event.type === "thread.imported" && event.isAncestor,
    isNew: ({ context, event }) => event.type === "thread.imported" && context.lastOrdinal === 0,
    isMarked: ({ context, event }) => event.type === "thread.unmarked" && context.marks[event.mark] !== undefined,
  },
  actions: {
    activate: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "thread.run_queued") return;
      enqueue.assign({ activeRunId: event.runId, lastOrdinal: Math.max(context.lastOrdinal, event.ordinal) });
      // Something new runs: what was taken back stays so.
      if (context.undone != null) enqueue.assign({ undone: null });
      enqueue.emit({ type: "tell", to: event.runId, event: { type: "run.dispatched" } });
    }),
    enqueueRun: assign(({ context, event }) =>
      event.type === "thread.run_queued"
        ? { queue: [...context.queue, event.runId], lastOrdinal: Math.max(context.lastOrdinal, event.ordinal) }
        : {},
    ),
    noteStable: assign(({ context, event }) =>
      event.type === "thread.run_ended" && event.stable !== null ? { latestStable: event.stable } : { latestStable: context.latestStable },
    ),
    tellResult: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === "thread.run_ended") for (const news of resultNews(context, event)) enqueue.emit(news);
    }),
    fallIdle: enqueueActions(({ context, enqueue }) => {
      enqueue.assign({ activeRunId: null });
      if (context.wakesOnResult)
        enqueue.emit({ type: "effect", request: { kind: "thread.wake", policy: "repeatable", threadId: context.id } });
    }),
    nextInQueue: enqueueActions(({ context, enqueue }) => {
      const [next, ...rest] = context.queue;
      if (next === undefined) return;
      enqueue.assign({ activeRunId: next, queue: rest });
      enqueue.emit({ type: "tell", to: next, event: { type: "run.dispatched" } });
    }),
    tellMove: enqueueActions(({ context, enqueue }) => {
      if (context.moving != null) enqueue.emit({ type: "tell", to: context.moving, event: { type: "move.thread_rested" } });
    }),
    awaitMove: assign(({ event }) => (event.type === "thread.move_awaited" ? { moving: event.moveId } : {})),
    endMove: enqueueActions(({ context, enqueue }) => {
      enqueue.assign({ moving: null });
      // What came meanwhile is told now, by the queue or by a run of its own.
      if (context.wakesOnResult && context.queue.length === 0)
        enqueue.emit({ type: "effect", request: { kind: "thread.wake", policy: "repeatable", threadId: context.id } });
    }),
    /** What was queued has travelled; it ends here without a turn. */
    depart: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "thread.departed") return;
      enqueue.assign({ departed: event.to, moving: null });
      for (const to of context.queue) enqueue.emit({ type: "tell", to, event: { type: "run.interrupt_requested", reason: "moved" } });
    }),
    forward: enqueueActions(({ context, enqueue }) => {
      enqueue.emit({ type: "effect", request: { kind: "thread.forward", policy: "repeatable", threadId: context.id } });
    }),
    unqueue: assign(({ context, event }) =>
      event.type === "thread.run_ended" ? { queue: context.queue.filter((id) => id !== event.runId) } : {},
    ),
    /** The thread's provider changes when a run's input was accepted, not before (case H03). */
    bindProvider: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "thread.run_accepted") return;
      const preferred = context.preferred;
      const settled =
        preferred !== null &&
        ((event.named && event.ordinal > preferred.afterOrdinal) || preferred.provider.instance === event.provider.instance);
      enqueue.assign({ provider: event.provider, preferred: settled ? null : preferred });
      if (context.task === null || event.ordinal !== 1) return;
      const { taskId, environmentId } = context.task;
      enqueue.emit(
        environmentId === null
          ? { type: "tell", to: taskId, event: { type: "task.started" } }
          : { type: "link.notice", to: environmentId, notice: { kind: "task.started", taskId } },
      );
    }),
    prefer: assign(({ context, event }) =>
      event.type === "thread.provider_preferred" ? { preferred: { provider: event.provider, afterOrdinal: context.lastOrdinal } } : {},
    ),
    attachTask: assign(({ context, event }) =>
      event.type === "thread.task_attached" ? { wakesOnResult: context.wakesOnResult || event.byAgent } : {},
    ),
    takeNews: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "thread.result_arrived") return;
      if (event.wake) enqueue.emit({ type: "effect", request: { kind: "thread.wake", policy: "repeatable", threadId: context.id } });
      if (context.moving != null) enqueue.emit({ type: "tell", to: context.moving, event: { type: "move.thread_rested" } });
    }),
    adopt: assign({ linkOrigin: null }),
    rename: assign(({ event }) => (event.type === "thread.renamed" ? { title: event.title } : {})),
    rollBack: enqueueActions(({ event, enqueue }) => {
      if (event.type !== "thread.rolled_back") return;
      enqueue.assign({ undone: event.undone, latestStable: event.stable, restoring: event.restoring });
      for (const to of event.undone.runIds) enqueue.emit({ type: "tell", to, event: { type: "run.rolled_back" } });
    }),
    rollForward: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "thread.rollback_undone" || context.undone == null) return;
      enqueue.assign({ undone: null, latestStable: context.undone.stableBefore, restoring: event.restoring });
      for (const to of context.undone.runIds) enqueue.emit({ type: "tell", to, event: { type: "run.restored" } });
    }),
    restoreFiles: enqueueActions(({ context, event, enqueue }) => {
      if (!("restoring" in event) || event.restoring === null) return;
      enqueue.emit({ type: "effect", request: { kind: "workspace.restore", policy: "repeatable", threadId: context.id } });
    }),
    takeRecord: assign(({ event }) => (event.type === "thread.imported" ? event.record : {})),
    relocate: assign(({ context, event }) =>
      event.type === "thread.relocated" ? { workspace: event.workspace, restoring: context.restoring ?? event.restoring } : {},
    ),
    filesRestored: assign({ restoring: null }),
    place: assign(({ event }) => (event.type === "thread.placed" ? { workspace: event.workspace } : {})),
    /** Whatever it has in its project's repository goes with it. */
    clearPlace: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "thread.deleted" || (context.workspace.strategy !== "worktree" && context.lastOrdinal === 0)) return;
      enqueue.emit({
        type: "effect",
        request: { kind: "workspace.remove", policy: "repeatable", threadId: context.id, discardWork: event.discardWork ?? false },
      });
    }),
    /** What waits first, the last of it before the others, so that none gets its turn in between. */
    stopRuns: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "thread.deleted") return;
      enqueue.assign({ discardWork: event.discardWork ?? false });
      const runs = [...context.queue].reverse();
      for (const to of context.activeRunId === null ? runs : [...runs, context.activeRunId])
        enqueue.emit({ type: "tell", to, event: { type: "run.interrupt_requested", reason: "its thread was deleted" } });
    }),
    tellDeleted: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "thread.run_ended") return;
      const error = event.error ?? (event.ending === "interrupted" ? deletedError : null);
      for (const news of resultNews(context, { ...event, error })) enqueue.emit(news);
    }),
    /** Its folder was its agent's until now. */
    comeToRest: enqueueActions(({ context, enqueue }) => {
      enqueue.assign({ activeRunId: null, discardWork: undefined });
      if (context.purge !== undefined)
        enqueue.emit({ type: "effect", request: { kind: "thread.purge", policy: "repeatable", threadId: context.id } });
      enqueue.emit({
        type: "effect",
        request: { kind: "workspace.remove", policy: "repeatable", threadId: context.id, discardWork: context.discardWork ?? false },
      });
    }),
    askPurge: enqueueActions(({ context, event, enqueue }) => {
      enqueue.assign({ purge: { askedAt: event.at, keptUpTo: context.purge?.keptUpTo ?? null, doneAt: null } });
      // What still runs in it would write anew.
      if (context.activeRunId === null)
        enqueue.emit({ type: "effect", request: { kind: "thread.purge", policy: "repeatable", threadId: context.id } });
    }),
    noteEmptied: assign(({ context, event }) =>
      event.type === "thread.emptied" && context.purge !== undefined
        ? { purge: { ...context.purge, keptUpTo: event.keptUpTo, doneAt: event.keptUpTo === null ? event.at : null } }
        : {},
    ),
    notePurged: assign(({ context, event }) =>
      event.type === "thread.text_purged" ? { purgedTexts: (context.purgedTexts ?? 0) + event.count } : {},
    ),
    setModes: assign(({ event }) => (event.type === "thread.modes_set" ? { modes: event.modes } : {})),
    mark: assign(({ context, event }) => (event.type === "thread.marked" ? { marks: { ...context.marks, [event.mark]: event.at } } : {})),
    unmark: assign(({ context, event }) => {
      if (event.type !== "thread.unmarked") return {};
      const { [event.mark]: _gone, ...marks } = context.marks;
      return { marks };
    }),
  },
}).createMachine({
  id: "thread",
  version: "1",
  context: ({ input }) => ({
    ...input.input,
    provider: null,
    activeRunId: null,
    queue: [],
    lastOrdinal: 0,
    wakesOnResult: false,
    marks: {},
    createdAt: input.at,
  }),
  initial: "idle",
  states: {
    idle: {
      on: {
        ...looksAfter,
        // Only a thread that a move waits for has messages that wait while nothing runs.
        "thread.run_queued": [
          { guard: "hasQueue", actions: "enqueueRun" },
          { target: "running", actions: "activate" },
        ],
        "thread.run_ended": { guard: "queuedEnded", actions: ["tellResult", "unqueue"] },
        "thread.queue_resumed": [{ guard: "hasQueue", target: "running", actions: "nextInQueue" }, {}],
        "thread.move_awaited": { guard: "isFree", actions: "awaitMove" },
        "thread.departing": { guard: "isAwaited", target: "departing" },
        "thread.released": [
          { guard: "isAwaitedWithQueue", target: "running", actions: ["endMove", "nextInQueue"] },
          { guard: "isAwaited", actions: "endMove" },
          {},
        ],
        "thread.result_arrived": [{ guard: "isNews", actions: "takeNews" }, {}],
        "thread.imported": [
          { guard: "isAncestor", target: "deleted", actions: "takeRecord" },
          { guard: "isNew", actions: "takeRecord" },
        ],
        "thread.rolled_back": { actions: ["rollBack", "restoreFiles"] },
        "thread.rollback_undone": { guard: "hasUndone", actions: ["rollForward", "restoreFiles"] },
        "thread.files_restored": [{ guard: "isRestoring", actions: ["filesRestored", "tellMove"] }, {}],
        "thread.deleted": { target: "deleted", actions: "clearPlace" },
      },
    },
    running: {
      on: {
        ...looksAfter,
        "thread.run_queued": { actions: "enqueueRun" },
        "thread.run_accepted": { guard: "isActive", actions: "bindProvider" },
        "thread.run_ended": [
          { guard: "activeEndedAndRests", target: "idle", actions: ["noteStable", "tellResult", "fallIdle", "tellMove"] },
          { guard: "activeEnded", actions: ["noteStable", "tellResult", "nextInQueue"] },
          { guard: "queuedEnded", actions: ["tellResult", "unqueue"] },
        ],
        "thread.queue_resumed": {},
        "thread.move_awaited": { guard: "isFree", actions: "awaitMove" },
        "thread.released": [{ guard: "isAwaited", actions: "endMove" }, {}],
        // It is told when the thread falls idle, or by the next run: whichever is first.
        "thread.result_arrived": {},
        "thread.files_restored": [{ guard: "isRestoring", actions: "filesRestored" }, {}],
        "thread.deleted": { guard: "stops", target: "deleted", actions: "stopRuns" },
      },
    },
    departing: {
      on: {
        "thread.text_purged": { actions: "notePurged" },
        "thread.relocated": { actions: ["relocate", "restoreFiles"] },
        "thread.departed": { guard: "isMovingThere", target: "departed", actions: ["depart", "forward"] },
        "thread.released": [
          { guard: "isAwaitedWithQueue", target: "running", actions: ["endMove", "nextInQueue"] },
          { guard: "isAwaited", target: "idle", actions: "endMove" },
          {},
        ],
        // A child's late answer: its transfer stays open, and is told here or forwarded.
        "thread.result_arrived": {},
        "thread.placed": { actions: "place" },
        "thread.files_restored": {},
        "thread.marked": { actions: "mark" },
        "thread.unmarked": [{ guard: "isMarked", actions: "unmark" }, {}],
      },
    },
    departed: {
      on: {
        "thread.text_purged": { actions: "notePurged" },
        "thread.relocated": { actions: ["relocate", "restoreFiles"] },
        "thread.run_ended": { guard: "queuedEnded", actions: "unqueue" },
        "thread.result_arrived": { actions: "forward" },
        "thread.placed": { actions: "place" },
        "thread.files_restored": {},
        "thread.marked": { guard: "staysOpen", actions: "mark" },
        "thread.unmarked": [{ guard: "staysOpenAndIsMarked", actions: "unmark" }, {}],
        "thread.deleted": { target: "deleted", actions: "clearPlace" },
      },
    },
    deleted: {
      on: {
        // What it was deleted in the middle of comes to its end, and is told like any other end.
        "thread.run_ended": [
          { guard: "activeEnded", actions: ["tellDeleted", "comeToRest"] },
          { guard: "queuedEnded", actions: ["tellDeleted", "unqueue"] },
        ],
        "thread.run_accepted": {},
        "thread.purge_asked": { actions: "askPurge" },
        "thread.emptied": { actions: "noteEmptied" },
        "thread.text_purged": { actions: "notePurged" },
        // A child's answer may still be on its way when its parent is deleted.
        "thread.result_arrived": {},
        "thread.task_attached": {},
        "thread.placed": {},
        "thread.relocated": {},
        "thread.files_restored": {},
      },
    },
  },
});
