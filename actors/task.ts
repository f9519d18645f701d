import { assign, enqueueActions, setup } from "xstate";
import type { Emission } from "../schemas/emission.ts";
import type { TaskCreated, TaskEvent } from "../schemas/events/task.ts";
import type { RunId, TransferId } from "../schemas/ids.ts";
import type { Content } from "../schemas/item.ts";
import type { TaskContext } from "../schemas/task.ts";
import type { ResultOutcome } from "../schemas/transfer.ts";

type ChildRunEnded = Extract<TaskEvent, { type: "task.child_run_ended" }>;

/** The result as a transfer to the parent, and the news of it. Exactly one per child run (contract §6). */
function result(
  context: TaskContext,
  eid: string,
  point: { runId: RunId | null; ordinal: number | null },
  content: Content | null,
  outcome: ResultOutcome,
): Emission[] {
  const id = `transfer:${eid}` as TransferId;
  const child = context.childThreadId ?? context.parentThreadId;
  return [
    {
      type: "create.transfer",
      input: {
        id,
        type: "subagent_result",
        sourceThreadId: child,
        targetThreadId: context.parentThreadId,
        sourcePoint: {
          threadId: child,
          environmentId: context.childEnvironmentId,
          runId: point.runId,
          ordinal: point.ordinal,
          checkpointId: null,
          turnItemId: null,
          providerThreadRef: null,
          providerTurnRef: null,
          givenAs: null,
        },
        basePoint: null,
        sourceProvider: null,
        targetProvider: null,
        supersedes: null,
        createdBy: "system",
        taskId: context.id,
        content,
        outcome,
      },
    },
    {
      type: "tell",
      to: context.parentThreadId,
      event: { type: "thread.result_arrived", transferId: id, wake: context.spawnedBy === "agent" },
    },
  ];
}

/** The child's own status; a run that ends while it is being cancelled was cancelled unless it got through first. */
function outcomeOf(event: ChildRunEnded, cancelling: boolean): ResultOutcome {
  return { ending: cancelling && event.ending === "interrupted" ? "cancelled" : event.ending, error: event.error };
}

/** A subagent that the runtime owns; lives on the parent's side, wherever the child runs (decisions 19, 27). */
export const taskMachine = setup({
  types: {
    context: {} as TaskContext,
    events: {} as TaskEvent,
    input: {} as TaskCreated,
    emitted: {} as Emission,
  },
  guards: {
    childCompleted: ({ event }) => event.type === "task.child_run_ended" && event.ending === "completed",
    childFailed: ({ event }) => event.type === "task.child_run_ended" && event.ending === "failed",
    isRepeat: ({ context, event }) => event.type === "task.child_run_ended" && context.endedRunIds.includes(event.runId),
    wasDismissed: ({ context }) => context.reason === "dismissed",
  },
  actions: {
    takeRecord: assign(({ event }) => {
      if (event.type !== "task.imported") return {};
      const { status: _, ...record } = event.record;
      return record;
    }),
    accept: assign(({ event }) => (event.type === "task.accepted" ? { childThreadId: event.childThreadId } : {})),
    deliver: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === "task.child_run_ended") deliverResult(context, event, false, enqueue);
    }),
    deliverCancelled: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === "task.child_run_ended") deliverResult(context, event, true, enqueue);
    }),
    refuse: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "task.refused") return;
      enqueue.assign({ error: event.error, endedAt: event.at, results: context.results + 1, lastResultTransferId: transferOf(event) });
      for (const e of result(context, event.eid, { runId: null, ordinal: null }, null, { ending: "failed", error: event.error }))
        enqueue.emit(e);
    }),
    dismiss: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "task.dismissed") return;
      enqueue.assign({ reason: "dismissed", endedAt: event.at, results: context.results + 1, lastResultTransferId: transferOf(event) });
      const why = { text: `A person dismissed this task: ${event.reason}` };
      for (const e of result(context, event.eid, { runId: null, ordinal: null }, why, { ending: "interrupted", error: null }))
        enqueue.emit(e);
    }),
    keepLateAnswer: assign(({ context, event }) =>
      event.type === "task.child_run_ended"
        ? {
            endedRunIds: [...context.endedRunIds, event.runId],
            lateAnswers: [
              ...context.lateAnswers,
              { runId: event.runId, status: event.ending, content: event.result ?? { text: "" }, at: event.at },
            ],
          }
        : {},
    ),
    askPeerToCancel: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "task.cancel_requested") return;
      enqueue.assign({ reason: event.reason });
      // A child here is stopped by the command itself, depth first; a child elsewhere by its own environment.
      if (context.childEnvironmentId === null) return;
      enqueue.emit({
        type: "link.request",
        to: context.childEnvironmentId,
        requestId: `req:${event.eid}` as NonNullable<TaskContext["requestId"]>,
        request: { kind: "task.cancel", taskId: context.id, reason: event.reason },
      });
    }),
  },
}).createMachine({
  id: "task",
  version: "1",
  context: ({ input }) => ({
    ...input.input,
    createdAt: input.at,
    endedAt: null,
    error: null,
    results: 0,
    lastResultTransferId: null,
    endedRunIds: [],
    lateAnswers: [],
    reason: null,
  }),
  initial: "requested",
  states: {
    requested: {
      on: {
        "task.imported": (["completed", "failed", "cancelled", "interrupted"] as const).map((status) => ({
          guard: ({ event }: { event: TaskEvent }) => event.type === "task.imported" && event.record.status === status,
          target: status,
          actions: "takeRecord" as const,
        })),
        "task.accepted": { target: "starting", actions: "accept" },
        "task.refused": { target: "failed", actions: "refuse" },
        "task.cancel_requested": { target: "cancelling", actions: "askPeerToCancel" },
        "task.dismissed": { target: "interrupted", actions: "dismiss" },
      },
    },
    starting: {
      on: {
        "task.accepted": {},
        "task.started": { target: "running" },
        "task.child_run_ended": childEnded(),
        "task.cancel_requested": { target: "cancelling", actions: "askPeerToCancel" },
        "task.dismissed": { target: "interrupted", actions: "dismiss" },
      },
    },
    running: {
      on: {
        "task.started": {},
        "task.child_run_ended": childEnded(),
        "task.cancel_requested": { target: "cancelling", actions: "askPeerToCancel" },
        "task.dismissed": { target: "interrupted", actions: "dismiss" },
      },
    },
    cancelling: {
      on: {
        "task.accepted": { actions: "accept" },
        "task.refused": { target: "cancelled", actions: "refuse" },
        "task.started": {},
        "task.cancel_requested": {},
        "task.child_run_ended": [
          { guard: "isRepeat" },
          { guard: "childCompleted", target: "completed", actions: "deliverCancelled" },
          { guard: "childFailed", target: "failed", actions: "deliverCancelled" },
          { target: "cancelled", actions: "deliverCancelled" },
        ],
        "task.dismissed": { target: "interrupted", actions: "dismiss" },
      },
    },
    completed: { on: endedOn() },
    failed: { on: endedOn() },
    cancelled: { on: endedOn() },
    interrupted: { on: endedOn() },
  },
});

function childEnded() {
  return [
    { guard: "isRepeat" },
    { guard: "childCompleted", target: "completed", actions: "deliver" },
    { guard: "childFailed", target: "failed", actions: "deliver" },
    { target: "interrupted", actions: "deliver" },
  ] as const;
}

/** The child may run again after its task ended: another run, another result (case S03). After a dismissal it is only kept. */
function endedOn() {
  return {
    "task.accepted": {},
    "task.refused": {},
    "task.started": {},
    "task.child_run_ended": [{ guard: "isRepeat" }, { guard: "wasDismissed", actions: "keepLateAnswer" }, { actions: "deliver" }],
  } as const;
}

const transferOf = (event: { eid: string }) => `transfer:${event.eid}` as TransferId;

type Enqueue = { assign(patch: Partial<TaskContext>): void; emit(emission: Emission): void };

function deliverResult(context: TaskContext, event: ChildRunEnded, cancelling: boolean, enqueue: Enqueue): void {
  const known = context.childThreadId === null ? { ...context, childThreadId: event.childThreadId } : context;
  enqueue.assign({
    childThreadId: event.childThreadId,
    endedAt: context.endedAt ?? event.at,
    error: event.error,
    results: context.results + 1,
    lastResultTransferId: transferOf(event),
    endedRunIds: [...context.endedRunIds, event.runId],
  });
  const point = { runId: event.runId, ordinal: event.ordinal };
  for (const e of result(known, event.eid, point, event.result, outcomeOf(event, cancelling))) enqueue.emit(e);
}
