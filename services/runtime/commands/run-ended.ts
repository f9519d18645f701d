import type { CheckpointId, ItemId, TransferId } from "../../../schemas/ids.ts";
import type { Content } from "../../../schemas/item.ts";
import type { ProviderThread } from "../../../schemas/provider.ts";
import type { Run } from "../../../schemas/run.ts";
import { addItem, type CommandOf, type Plan, type PlanContext } from "../plan.ts";
import { reportLate, underWay } from "./run-progress.ts";

/**
 * A run's own end, in the order of the contract (§7): text flushed, what it left open closed, checkpoint, then the run's
 * terminal event with all that follows from it: its result to the parent, the next run's turn.
 */
export const runEnded: Plan<"run.ended"> = (command, context) => {
  const run = underWay(context, command.runId, command.attemptId);
  if (run === null) {
    reportLate(context, command.runId, { type: "run.ended", attemptId: command.attemptId, ending: command.ending });
    return { ignored: true };
  }
  flushPartialText(context, run);
  expireRequests(context, run);
  if (command.error !== null && command.ending === "failed")
    addItem(context, {
      threadId: run.threadId,
      runId: run.id,
      runOrdinal: run.ordinal,
      body: { kind: "error", content: { text: `${command.error.message} (${command.error.hint})` } },
    });
  if (command.openFailed) noteConversation(context, run, command.rewindRefused ?? false);
  const checkpointId = command.ending === "completed" ? makeCheckpoint(context, run, command) : null;
  const result = lastAnswer(context, run);
  context.uow.tell({
    to: run.id,
    event: {
      type: "run.ended",
      attemptId: command.attemptId,
      ending: command.ending,
      error: command.error,
      checkpointId,
      turnRef: command.turnRef,
      resultItemId: result?.itemId ?? null,
      result: result?.content ?? null,
      failed: command.openFailed ? failedByOpening(run) : [],
    },
  });
  return { checkpointId };
};

/** Text that had arrived when the provider or this process ended becomes an item marked `truncated` (decision 14). */
function flushPartialText(context: PlanContext, run: Run): void {
  const text = context.overlay.store.progress(run.id);
  if (text === null) return;
  context.overlay.clearProgress(run.id);
  // The item that this text grew into may be in the same batch already.
  const complete = context.overlay.itemsOfRun(run.id).some((i) => i.body.kind === "assistant_message");
  if (text === "" || complete) return;
  addItem(context, {
    threadId: run.threadId,
    runId: run.id,
    runOrdinal: run.ordinal,
    truncated: true,
    body: { kind: "assistant_message", content: { text } },
  });
}

function expireRequests(context: PlanContext, run: Run): void {
  for (const request of run.openRequests)
    addItem(context, {
      threadId: run.threadId,
      runId: run.id,
      runOrdinal: run.ordinal,
      body: { kind: "approval_answer", requestId: request.requestId, answer: "expired", by: "system" },
    });
}

function makeCheckpoint(context: PlanContext, run: Run, { workspace = null, workspaceNote = null }: CommandOf<"run.ended">): CheckpointId {
  const id = context.uow.ids.next("checkpoint");
  context.overlay.putCheckpoint({
    id,
    threadId: run.threadId,
    runId: run.id,
    ordinal: run.ordinal,
    workspaceRef: workspace?.ref ?? null,
    workspace,
    ...(workspaceNote === null ? {} : { workspaceNote }),
    createdAt: context.uow.now,
  });
  return id;
}

/** The last thing that the agent said in this run, whole; what a parent is told. */
function lastAnswer(context: PlanContext, run: Run): { itemId: ItemId; content: Content } | null {
  const added = context.overlay.itemsOfRun(run.id).findLast((i) => i.body.kind === "assistant_message");
  const range = { threadId: run.threadId, fromOrdinal: run.ordinal, toOrdinal: run.ordinal };
  const item = added ?? context.overlay.store.items(range, { newestFirst: true }).find((i) => i.body.kind === "assistant_message");
  return item?.body.kind === "assistant_message" ? { itemId: item.id, content: item.body.content } : null;
}

/**
 * A conversation that cannot be opened again, or not be taken back, would fail every run to come: the next one begins anew
 * with everything, or forks it.
 */
function noteConversation(context: PlanContext, run: Run, rewindRefused: boolean): void {
  const open = run.acceptedAt === null ? run.plan?.open : undefined;
  if (open?.kind === "resume")
    put(context, context.overlay.providerThread(open.providerThreadId), rewindRefused ? { rewindRefused: "inPlace" } : { lost: true });
  if (open?.kind === "fork" && open.upTo !== undefined) {
    const own = context.overlay.providerThreadsOf(run.threadId).find((p) => p.nativeRef.id === open.nativeRef.id);
    put(context, own ?? null, { rewindRefused: "fork" });
  }
}

function put(context: PlanContext, native: ProviderThread | null, found: Partial<ProviderThread>): void {
  if (native !== null) context.overlay.putProviderThread({ ...native, ...found });
}

/** A fork or a rewind that the adapter could not honour is that transfer's fault, and no other's (case F05). */
function failedByOpening(run: Run): TransferId[] {
  const open = run.acceptedAt === null ? run.plan?.open : undefined;
  if (open?.kind === "fork") return [open.transferId];
  return open?.kind === "resume" && open.rewind !== undefined ? [open.rewind.transferId] : [];
}
