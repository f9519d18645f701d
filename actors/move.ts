import { assign, enqueueActions, setup } from "xstate";
import type { Emission } from "../schemas/emission.ts";
import type { MoveCreated, MoveEvent } from "../schemas/events/move.ts";
import type { RequestId } from "../schemas/ids.ts";
import type { MoveContext } from "../schemas/move.ts";

/**
 * A thread's way to another environment (contract §6, decision 0117). The thread is released only by the peer's answer that
 * nothing of it lives there; no clock is asked. What the peer decided stands: later news of it changes nothing.
 */
export const moveMachine = setup({
  types: {
    context: {} as MoveContext,
    events: {} as MoveEvent,
    input: {} as MoveCreated,
    emitted: {} as Emission,
  },
  actions: {
    awaitThread: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "move.checked") return;
      enqueue.assign({ waitsFor: "turn", known: event.known });
      enqueue.emit({ type: "tell", to: context.threadId, event: { type: "thread.move_awaited", moveId: context.id } });
      enqueue.emit({ type: "effect", request: { kind: "move.proceed", policy: "repeatable", moveId: context.id } });
    }),
    look: enqueueActions(({ context, enqueue }) => {
      enqueue.emit({ type: "effect", request: { kind: "move.proceed", policy: "repeatable", moveId: context.id } });
    }),
    hold: assign(({ event }) => (event.type === "move.held" ? { waitsFor: event.waitsFor } : {})),
    giveUp: assign(({ context, event }) =>
      "error" in event ? { error: event.error, endedAt: event.at, lacks: "lacks" in event ? event.lacks : context.lacks } : {},
    ),
    release: enqueueActions(({ context, enqueue }) => {
      enqueue.emit({ type: "tell", to: context.threadId, event: { type: "thread.released", moveId: context.id } });
    }),
    depart: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "move.departing") return;
      enqueue.assign({ offerId: event.offerId, carried: event.carried, left: event.left, departingAt: event.at, waitsFor: "peer" });
      enqueue.emit({ type: "tell", to: context.threadId, event: { type: "thread.departing", moveId: context.id } });
    }),
    askToAbort: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "move.abort_requested") return;
      const requestId = `req:${event.eid}` as RequestId;
      enqueue.assign({ abortId: requestId });
      const request = { kind: "move.abort" as const, moveId: context.id, sourceThreadId: context.threadId };
      enqueue.emit({ type: "link.request", to: context.environmentId, requestId, request });
    }),
    standIn: assign(({ event }) => (event.type === "move.overridden" ? { standIn: event.standIn } : {})),
    arrive: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== "move.accepted") return;
      enqueue.assign({ targetThreadId: event.threadId, endedAt: event.at, left: [...context.left, ...event.left] });
      const to = { environmentId: context.environmentId, threadId: event.threadId, moveId: context.id };
      enqueue.emit({ type: "tell", to: context.threadId, event: { type: "thread.departed", to } });
      // The offer told them, and the peer has it.
      for (const id of context.carried) enqueue.emit({ type: "tell", to: id, event: { type: "transfer.superseded", by: null } });
    }),
  },
}).createMachine({
  id: "move",
  version: "1",
  context: ({ input }) => ({
    ...input.input,
    offerId: null,
    abortId: null,
    waitsFor: "peer",
    standIn: null,
    lacks: [],
    known: [],
    left: [],
    carried: [],
    createdAt: input.at,
    departingAt: null,
    endedAt: null,
    error: null,
  }),
  initial: "pending",
  states: {
    pending: {
      initial: "asking",
      states: {
        asking: {
          on: {
            "move.checked": { target: "waiting", actions: "awaitThread" },
            "move.unfit": { target: "#move.failed", actions: "giveUp" },
            "move.cancelled": { target: "#move.failed", actions: "giveUp" },
            "move.thread_rested": {},
          },
        },
        waiting: {
          on: {
            "move.thread_rested": { actions: "look" },
            "move.held": { actions: "hold" },
            "move.departing": { target: "#move.departing", actions: "depart" },
            "move.unfit": { target: "#move.failed", actions: ["giveUp", "release"] },
            "move.cancelled": { target: "#move.failed", actions: ["giveUp", "release"] },
            "move.checked": {},
          },
        },
      },
    },
    departing: {
      initial: "offered",
      states: {
        offered: { on: { "move.abort_requested": { target: "aborting", actions: "askToAbort" } } },
        // Asked again by another word: the first question may have gone with its link.
        aborting: { on: { "move.abort_requested": { actions: "askToAbort" } } },
      },
      on: {
        "move.accepted": { target: "departed", actions: "arrive" },
        "move.refused": { target: "failed", actions: ["giveUp", "release"] },
        "move.overridden": { actions: "standIn" },
        "move.checked": {},
        "move.thread_rested": {},
        "move.held": {},
      },
    },
    departed: { on: { "move.accepted": {}, "move.refused": {}, "move.thread_rested": {} } },
    // Also where it was cancelled before it departed: the preflight's answer may still be on its way.
    failed: {
      on: { "move.checked": {}, "move.unfit": {}, "move.refused": {}, "move.thread_rested": {}, "move.held": {}, "move.cancelled": {} },
    },
  },
});
