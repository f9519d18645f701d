import type { ContextHandoff } from "../../../schemas/handoff.ts";
import type { RunId } from "../../../schemas/ids.ts";
import type { Coverage, NativeRef, ProviderThread } from "../../../schemas/provider.ts";
import { isEndedRun, type Run, type StartPlan } from "../../../schemas/run.ts";
import type { ReportedItem } from "../../../schemas/system-command.ts";
import { withOrdinal } from "../ordinals.ts";
import { addItem, type Plan, type PlanContext } from "../plan.ts";
import { runFrom, transferFrom } from "../typed-actors.ts";

/** The run while the named attempt works on it; null for late news. */
export function underWay(context: PlanContext, runId: RunId, attemptId: string): Run | null {
  const run = runFrom(context.overlay, runId);
  return run !== null && !isEndedRun(run.status) && run.attempt?.id === attemptId ? run : null;
}

const late = { ignored: true } as const;

/** The provider took the input: what it was told is consumed, and what it now knows is written down (decision 29). */
export const runAccepted: Plan<"run.accepted"> = (command, context) => {
  const run = underWay(context, command.runId, command.attemptId);
  if (run === null || run.plan === null || run.acceptedAt !== null) {
    if (run === null)
      reportLate(context, command.runId, {
        type: "run.accepted",
        attemptId: command.attemptId,
        providerThreadId: null,
        turnRef: command.turnRef,
      });
    return late;
  }
  const native = nativeThread(context, run, run.plan, command.nativeRef);
  context.overlay.putProviderThread(native);
  for (const handoff of context.overlay.store.handoffs(run.plan.handoffIds)) noteHandoff(context, run, handoff);
  context.uow.tell({
    to: run.id,
    event: { type: "run.accepted", attemptId: command.attemptId, providerThreadId: native.id, turnRef: command.turnRef },
  });
  return { providerThreadId: native.id };
};

/** The handle of the native conversation, with what it knows once it has taken this run's input. */
function nativeThread(context: PlanContext, run: Run, plan: StartPlan, nativeRef: NativeRef): ProviderThread {
  const before = plan.open.kind === "resume" ? context.overlay.providerThread(plan.open.providerThreadId) : null;
  const rewind = plan.open.kind === "resume" ? plan.open.rewind : undefined;
  const known: Coverage = rewind?.knows ?? before?.coverage ?? { base: false, native: [], told: [], transfers: [] };
  const coverage: Coverage = {
    base: known.base || plan.tellsBase,
    native: withOrdinal(known.native, run.ordinal),
    told: plan.tells.reduce(withOrdinal, known.told),
    transfers: [...known.transfers, ...run.transferIds],
  };
  const instance = plan.provider.instance;
  return before === null
    ? {
        id: context.uow.ids.next("pthread"),
        threadId: run.threadId,
        instance,
        nativeRef,
        coverage,
        lastRunId: run.id,
        lost: false,
        createdAt: context.uow.now,
      }
    : { ...before, nativeRef, coverage, lastRunId: run.id, ...(rewind !== undefined && { cutAfter: null }) };
}

/** What a run was told besides its message stands in the thread, where a person can open it. */
function noteHandoff(context: PlanContext, run: Run, handoff: ContextHandoff): void {
  const transfer = transferFrom(context.overlay, handoff.transferId);
  // A task alone is the message that stands there already.
  if (handoff.isMessage && transfer?.content == null) return;
  const left = handoff.leftOut.length > 0 ? `, ${handoff.leftOut.length} left out` : "";
  addItem(context, {
    threadId: run.threadId,
    runId: run.id,
    runOrdinal: run.ordinal,
    body: {
      kind: "handoff",
      handoffId: handoff.id,
      transferId: handoff.transferId,
      content: { text: `${transfer?.type ?? "handoff"}: ${handoff.size} ${handoff.budget.unit}${left}` },
    },
  });
}

export const runItems: Plan<"run.items"> = (command, context) => {
  const run = underWay(context, command.runId, command.attemptId);
  if (run === null) return late;
  for (const item of command.items) addReported(context, run, item);
  context.overlay.clearProgress(run.id);
  return {};
};

function addReported(context: PlanContext, run: Run, item: ReportedItem) {
  return addItem(context, { threadId: run.threadId, runId: run.id, runOrdinal: run.ordinal, ...item });
}

export const requestOpened: Plan<"run.request_opened"> = (command, context) => {
  const run = underWay(context, command.runId, command.attemptId);
  if (run === null) return late;
  const itemId = addReported(context, run, command.item);
  const done = context.uow.report({
    to: run.id,
    event: { type: "run.request_opened", attemptId: command.attemptId, request: { ...command.request, itemId } },
  });
  return { ignored: done === "ignored" };
};

export const requestClosed: Plan<"run.request_closed"> = (command, context) => {
  const run = underWay(context, command.runId, command.attemptId);
  if (run === null) return late;
  context.uow.report({ to: run.id, event: { type: "run.request_closed", requestId: command.requestId } });
  return {};
};

/** Late news of the outside is kept as ignored, not as an error (architecture.md, Actors). */
export function reportLate(context: PlanContext, runId: RunId, event: { type: string } & Record<string, unknown>): void {
  const run = runFrom(context.overlay, runId);
  if (run === null) return;
  context.overlay.addJournal({
    actorId: runId,
    kind: "run",
    seq: 0,
    event: { ...event, at: context.uow.now, eid: context.uow.ids.uuid() },
    from: run.status,
    to: run.status,
    verdict: "ignored",
  });
}
