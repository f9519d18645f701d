import { assign, enqueueActions, setup } from "xstate";
import type { Emission } from "../schemas/emission.ts";
import type { RunCreated, RunEvent } from "../schemas/events/run.ts";
import type { TransferId } from "../schemas/ids.ts";
import type { Refusal } from "../schemas/refusal.ts";
import type { RunContext, RunEnding } from "../schemas/run.ts";

type EventOf<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;

/** What may still arrive for a run that has ended, and changes nothing; only a rollback does. */
const lateNews = {
  "run.claimed": {},
  "run.prepared": {},
  "run.unprepared": {},
  "run.placed": {},
  "run.accepted": {},
  "run.request_opened": {},
  "run.request_closed": {},
  "run.ended": {},
} as const;

/** The transfers that an ending run still holds: failed where they are at fault, else free for the next run (case M04). */
function letGo(context: RunContext, failed: readonly TransferId[], error: Refusal | null): Emission[] {
  if (context.acceptedAt !== null || context.attempt === null) return [];
  const claim = { runId: context.id, attemptId: context.attempt.id };
  return context.transferIds.map((to) =>
    error !== null && failed.includes(to)
      ? { type: "tell", to, event: { type: "transfer.failed", ...claim, error } }
      : { type: "tell", to, event: { type: "transfer.released", ...claim } },
  );
}

function endOfRun(context: RunContext, ending: RunEnding, event: EventOf<"run.ended"> | null, error: Refusal | null): Emission {
  const stable = event?.checkpointId != null ? { runId: context.id, ordinal: context.ordinal, checkpointId: event.checkpointId } : null;
  return {
    type: "tell",
    to: context.threadId,
    event: {
      type: "thread.run_ended",
      runId: context.id,
      ordinal: context.ordinal,
      ending,
      stable,
      result: event?.result ?? null,
      error,
    },
  };
}

/** One user-visible turn (decision 19). Only its own end ends it, and terminal is terminal; only a rollback takes an ended run back. */
export const runMachine = setup({
  types: {
    context: {} as RunContext,
    events: {} as RunEvent,
    input: {} as RunCreated,
    emitted: {} as Emission,
  },
  guards: {
    /** Of the attempt that is under way; anything else is late news. */
    isCurrent: ({ context, event }) => "attemptId" in event && context.attempt?.id === event.attemptId,
    isStale: ({ context, event }) => "attemptId" in event && context.attempt?.id !== event.attemptId,
    needsPlace: ({ event }) => event.type === "run.prepared" && event.place === true,
    hasRequest: ({ context, event }) => "requestId" in event && context.openRequests.some((r) => r.requestId === event.requestId),
    isLastRequest: ({ context, event }) =>
      "requestId" in event && context.openRequests.length === 1 && context.openRequests[0]?.requestId === event.requestId,
    endsCompleted: ({ event }) => event.type === "run.ended" && event.ending === "completed",
    wasCompleted: ({ context }) => context.takenBackFrom === "completed",
    wasFailed: ({ context }) => context.takenBackFrom === "failed",
    endsFailed: ({ event }) => event.type === "run.ended" && event.ending === "failed",
  },
  actions: {
    takeRecord: assign(({ event }) => {
      if (event.type !== "run.imported") return {};
      const { status: _, ...record } = event.record;
      return record;
    }),
    beginAttempt: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "run.dispatched") return;
      const attemptId = `attempt:${event.eid}` as NonNullable<RunContext["attempt"]>["id"];
      enqueue.assign({ attempt: { id: attemptId, number: 1, kind: "initial" as const } });
      enqueue.emit({ type: "effect", request: { kind: "run.prepare", policy: "repeatable", runId: context.id, attemptId } });
    }),
    claim: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "run.claimed") return;
      enqueue.assign({ provider: event.provider, transferIds: event.transferIds });
      for (const to of event.transferIds)
        enqueue.emit({
          type: "tell",
          to,
          event: { type: "transfer.claimed", runId: context.id, attemptId: event.attemptId, targetProvider: event.provider.instance },
        });
    }),
    keepPlan: assign(({ event }) => (event.type === "run.prepared" ? { plan: event.plan } : {})),
    place: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "run.prepared") return;
      enqueue.emit({
        type: "effect",
        request: { kind: "workspace.make", policy: "repeatable", runId: context.id, attemptId: event.attemptId },
      });
    }),
    start: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "run.prepared" && event.type !== "run.placed") return;
      enqueue.emit({
        type: "effect",
        request: { kind: "provider.start", policy: "once", runId: context.id, attemptId: event.attemptId },
      });
    }),
    failUnprepared: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "run.unprepared") return;
      enqueue.assign({ error: event.error, endedAt: event.at });
      for (const emission of letGo(context, event.failed, event.error)) enqueue.emit(emission);
      enqueue.emit(endOfRun(context, "failed", null, event.error));
    }),
    accept: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "run.accepted" || context.provider === null) return;
      enqueue.assign({ providerThreadId: event.providerThreadId, turnRef: event.turnRef, acceptedAt: event.at });
      for (const to of context.transferIds)
        enqueue.emit({ type: "tell", to, event: { type: "transfer.consumed", runId: context.id, attemptId: event.attemptId } });
      enqueue.emit({
        type: "tell",
        to: context.threadId,
        event: {
          type: "thread.run_accepted",
          runId: context.id,
          ordinal: context.ordinal,
          provider: context.provider,
          named: context.requested !== null,
        },
      });
    }),
    openRequest: assign(({ context, event }) =>
      event.type === "run.request_opened"
        ? { openRequests: [...context.openRequests.filter((r) => r.requestId !== event.request.requestId), event.request] }
        : {},
    ),
    closeRequest: assign(({ context, event }) =>
      "requestId" in event ? { openRequests: context.openRequests.filter((r) => r.requestId !== event.requestId) } : {},
    ),
    giveAnswer: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "run.request_answered" || context.attempt === null) return;
      enqueue.emit({
        type: "effect",
        request: {
          kind: "provider.answer",
          policy: "once",
          runId: context.id,
          attemptId: context.attempt.id,
          requestId: event.requestId,
          answer: event.answer,
        },
      });
    }),
    askInterrupt: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "run.interrupt_requested" || context.attempt === null) return;
      enqueue.assign({ interruptReason: event.reason });
      enqueue.emit({
        type: "effect",
        request: { kind: "provider.interrupt", policy: "repeatable", runId: context.id, attemptId: context.attempt.id },
      });
    }),
    interruptAtOnce: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "run.interrupt_requested") return;
      enqueue.assign({ interruptReason: event.reason, endedAt: event.at });
      for (const emission of letGo(context, [], null)) enqueue.emit(emission);
      enqueue.emit(endOfRun(context, "interrupted", null, null));
    }),
    takeBackCompleted: assign(({ event }) => ({ takenBackFrom: "completed" as const, takenBackAt: event.at })),
    takeBackFailed: assign(({ event }) => ({ takenBackFrom: "failed" as const, takenBackAt: event.at })),
    takeBackInterrupted: assign(({ event }) => ({ takenBackFrom: "interrupted" as const, takenBackAt: event.at })),
    comeBack: assign(() => ({ takenBackFrom: undefined, takenBackAt: undefined })),
    end: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "run.ended") return;
      enqueue.assign({
        error: event.error,
        endedAt: event.at,
        checkpointId: event.checkpointId,
        turnRef: event.turnRef ?? context.turnRef,
        resultItemId: event.resultItemId,
        openRequests: [],
      });
      for (const emission of letGo(context, event.failed, event.error)) enqueue.emit(emission);
      enqueue.emit(endOfRun(context, event.ending, event, event.error));
    }),
  },
}).createMachine({
  id: "run",
  version: "1",
  context: ({ input }) => ({
    ...input.input,
    createdAt: input.at,
    attempt: null,
    provider: null,
    plan: null,
    transferIds: [],
    providerThreadId: null,
    turnRef: null,
    acceptedAt: null,
    openRequests: [],
    interruptReason: null,
    resultItemId: null,
    checkpointId: null,
    error: null,
    endedAt: null,
  }),
  initial: "queued",
  states: {
    queued: {
      on: {
        "run.dispatched": { target: "preparing", actions: "beginAttempt" },
        "run.imported": (["completed", "failed", "interrupted", "rolled_back"] as const).map((status) => ({
          guard: ({ event }: { event: RunEvent }) => event.type === "run.imported" && event.record.status === status,
          target: status,
          actions: "takeRecord" as const,
        })),
        "run.interrupt_requested": { target: "interrupted", actions: "interruptAtOnce" },
      },
    },
    preparing: {
      on: {
        "run.claimed": [{ guard: "isStale" }, { actions: "claim" }],
        "run.prepared": [
          { guard: "isStale" },
          { guard: "needsPlace", target: "placing", actions: ["keepPlan", "place"] },
          { target: "starting", actions: ["keepPlan", "start"] },
        ],
        "run.unprepared": [{ guard: "isStale" }, { target: "failed", actions: "failUnprepared" }],
        "run.interrupt_requested": { target: "interrupted", actions: "interruptAtOnce" },
      },
    },
    placing: {
      on: {
        "run.placed": [{ guard: "isStale" }, { target: "starting", actions: "start" }],
        "run.unprepared": [{ guard: "isStale" }, { target: "failed", actions: "failUnprepared" }],
        "run.interrupt_requested": { target: "interrupted", actions: "interruptAtOnce" },
      },
    },
    starting: {
      on: {
        "run.accepted": [{ guard: "isStale" }, { target: "running", actions: "accept" }],
        "run.ended": ending(),
        "run.interrupt_requested": { target: "interrupting", actions: "askInterrupt" },
      },
    },
    running: {
      on: {
        "run.request_opened": [{ guard: "isStale" }, { target: "waiting", actions: "openRequest" }],
        "run.request_closed": {},
        "run.request_answered": {},
        "run.ended": ending(),
        "run.interrupt_requested": { target: "interrupting", actions: "askInterrupt" },
      },
    },
    waiting: {
      on: {
        "run.request_opened": [{ guard: "isStale" }, { actions: "openRequest" }],
        "run.request_answered": [
          { guard: "isLastRequest", target: "running", actions: ["giveAnswer", "closeRequest"] },
          { guard: "hasRequest", actions: ["giveAnswer", "closeRequest"] },
        ],
        "run.request_closed": [
          { guard: "isLastRequest", target: "running", actions: "closeRequest" },
          { guard: "hasRequest", actions: "closeRequest" },
          {},
        ],
        "run.ended": ending(),
        "run.interrupt_requested": { target: "interrupting", actions: "askInterrupt" },
      },
    },
    interrupting: {
      on: {
        // The provider may take the input while it is being told to stop: then what it was told is consumed all the same.
        "run.accepted": [{ guard: "isStale" }, { actions: "accept" }],
        "run.request_opened": {},
        "run.request_closed": {},
        "run.request_answered": {},
        "run.interrupt_requested": {},
        "run.ended": ending(),
      },
    },
    completed: { on: { ...lateNews, "run.rolled_back": { target: "rolled_back", actions: "takeBackCompleted" } } },
    failed: { on: { ...lateNews, "run.rolled_back": { target: "rolled_back", actions: "takeBackFailed" } } },
    interrupted: { on: { ...lateNews, "run.rolled_back": { target: "rolled_back", actions: "takeBackInterrupted" } } },
    rolled_back: {
      on: {
        ...lateNews,
        "run.restored": [
          { guard: "wasCompleted", target: "completed", actions: "comeBack" },
          { guard: "wasFailed", target: "failed", actions: "comeBack" },
          { target: "interrupted", actions: "comeBack" },
        ],
      },
    },
  },
});

/** The run's own end, from any state in which a provider works on it. */
function ending() {
  return [
    { guard: "isStale" },
    { guard: "endsCompleted", target: "completed", actions: "end" },
    { guard: "endsFailed", target: "failed", actions: "end" },
    { target: "interrupted", actions: "end" },
  ] as const;
}
