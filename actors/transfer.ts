import { assign, setup } from "xstate";
import type { Emission } from "../schemas/emission.ts";
import type { TransferCreated, TransferEvent } from "../schemas/events/transfer.ts";
import type { TransferContext } from "../schemas/transfer.ts";

/**
 * A context transfer (contract §4). Its top-level states are exactly the public statuses; whether a run works on it is a
 * substate of `pending`. There is no way back: a retry is a new transfer that supersedes this one.
 */
export const transferMachine = setup({
  types: {
    context: {} as TransferContext,
    events: {} as TransferEvent,
    input: {} as TransferCreated,
    emitted: {} as Emission,
  },
  guards: {
    byClaimant: ({ context, event }) =>
      "runId" in event && context.claim !== null && context.claim.runId === event.runId && context.claim.attemptId === event.attemptId,
    /** Free, or a new attempt of the run that has it already. */
    claimable: ({ context, event }) => context.claim === null || ("runId" in event && context.claim.runId === event.runId),
    unclaimed: ({ context }) => context.claim === null,
    asNative: ({ event }) => event.type === "transfer.resolved" && event.resolution.kind === "native_fork",
  },
  actions: {
    claim: assign(({ event }) =>
      event.type === "transfer.claimed"
        ? { claim: { runId: event.runId, attemptId: event.attemptId }, targetProvider: event.targetProvider }
        : {},
    ),
    takeRecord: assign(({ event }) => {
      if (event.type !== "transfer.imported") return {};
      const { status: _, ...record } = event.record;
      return record;
    }),
    release: assign({ claim: null }),
    resolve: assign(({ context, event }) =>
      event.type === "transfer.resolved"
        ? {
            resolution: event.resolution,
            basePoint: event.basePoint ?? context.basePoint,
            sourcePoint: event.sourcePoint ?? context.sourcePoint,
          }
        : {},
    ),
    fail: assign(({ event }) => (event.type === "transfer.failed" ? { error: event.error, claim: null } : {})),
    consume: assign(({ event }) =>
      event.type === "transfer.consumed" ? { consumedAt: event.at, consumedByRunId: event.runId, claim: null } : {},
    ),
    replace: assign(({ event }) => (event.type === "transfer.superseded" ? { supersededBy: event.by } : {})),
  },
}).createMachine({
  id: "transfer",
  version: "1",
  context: ({ input }) => ({
    ...input.input,
    resolution: null,
    error: null,
    supersededBy: null,
    createdAt: input.at,
    consumedAt: null,
    consumedByRunId: null,
    claim: null,
  }),
  initial: "pending",
  states: {
    pending: {
      initial: "unclaimed",
      states: {
        unclaimed: {
          on: {
            "transfer.imported": [
              ...(["failed", "consumed", "superseded"] as const).map((status) => ({
                guard: ({ event }: { event: TransferEvent }) => event.type === "transfer.imported" && event.record.status === status,
                target: `#transfer.${status}` as const,
                actions: "takeRecord" as const,
              })),
              {
                guard: ({ event }: { event: TransferEvent }) => event.type === "transfer.imported" && event.record.status === "pending",
                actions: "takeRecord" as const,
              },
            ],
            "transfer.claimed": { target: "claimed", actions: "claim" },
            "transfer.superseded": { target: "#transfer.superseded", actions: "replace" },
            "transfer.released": {},
            "transfer.resolved": {},
            "transfer.failed": {},
          },
        },
        claimed: {
          on: {
            "transfer.claimed": { guard: "claimable", actions: "claim" },
            "transfer.released": [{ guard: "byClaimant", target: "unclaimed", actions: "release" }, {}],
            "transfer.resolved": [
              { guard: ({ context, event }) => !isClaimant(context, event) },
              { guard: "asNative", target: "#transfer.resolved_native", actions: "resolve" },
              { target: "#transfer.resolved_portable", actions: "resolve" },
            ],
            "transfer.failed": [{ guard: "byClaimant", target: "#transfer.failed", actions: "fail" }, {}],
          },
        },
      },
    },
    resolved_native: {
      on: {
        "transfer.claimed": { guard: "claimable", actions: "claim" },
        "transfer.released": [{ guard: "byClaimant", actions: "release" }, {}],
        "transfer.failed": [{ guard: "byClaimant", target: "failed", actions: "fail" }, {}],
        "transfer.consumed": { guard: "byClaimant", target: "consumed", actions: "consume" },
        "transfer.superseded": { guard: "unclaimed", target: "superseded", actions: "replace" },
      },
    },
    resolved_portable: {
      on: {
        "transfer.claimed": { guard: "claimable", actions: "claim" },
        "transfer.released": [{ guard: "byClaimant", actions: "release" }, {}],
        "transfer.failed": [{ guard: "byClaimant", target: "failed", actions: "fail" }, {}],
        "transfer.consumed": { guard: "byClaimant", target: "consumed", actions: "consume" },
        "transfer.superseded": { guard: "unclaimed", target: "superseded", actions: "replace" },
      },
    },
    failed: {
      on: {
        "transfer.superseded": { target: "superseded", actions: "replace" },
        "transfer.released": {},
        "transfer.failed": {},
        "transfer.resolved": {},
      },
    },
    consumed: { type: "final" },
    superseded: { type: "final" },
  },
});

function isClaimant(context: TransferContext, event: TransferEvent): boolean {
  return "runId" in event && context.claim?.runId === event.runId && context.claim.attemptId === event.attemptId;
}
