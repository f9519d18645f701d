import type { TransferId } from "../../schemas/ids.ts";
import type { NativeRef, ProviderCapabilities, ProviderChoice, ProviderThread } from "../../schemas/provider.ts";
import { refusal } from "../../schemas/refusal.ts";
import type { Run } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { ContextTransfer, TransferInput } from "../../schemas/transfer.ts";
import type { Identifiers } from "../runtime/ports/identifiers.ts";
import type { Store } from "../runtime/ports/store.ts";
import { pointAt } from "../runtime/source-point.ts";
import { openTransfersTo, runsOf } from "../runtime/typed-actors.ts";
import { hasBase, missingRuns } from "./coverage.ts";
import { type NativePoint, nativePointOf, rewindPointOf } from "./native-fork.ts";
import type { GoBack, StartContext, StartOutcome, WorkedOn } from "./outcomes.ts";
import { rewindInPlace } from "./rewind.ts";

export type StartQuestion = {
  thread: AppThread;
  run: Run;
  /** Who is to serve it: decided when the message is delivered. */
  provider: ProviderChoice;
  capabilities: ProviderCapabilities | null;
};

/**
 * The run start hook (contract §5): what a run starts with, decided once before any provider work, for every provider the
 * same way. Reads only; the caller commits what it says.
 *
 * 1. Every open transfer to the thread has one outcome, oldest first, by commit order.
 * 2. What the native conversation does not know of the thread's own runs is told by one provider handoff.
 * 3. History from before the thread's own runs is told once: by the fork, or by the provider handoff.
 * 4. A failed transfer is replaced by a successor, which is retold: a native fork that was refused is not tried again.
 * 5. A native conversation that knows what was taken back is taken back too, else forked, else left (decision 0115).
 */
export function resolveStartContext(store: Store, ids: Identifiers, question: StartQuestion): StartContext {
  const { thread, run, provider, capabilities } = question;
  const blank: StartContext = { provider, outcomes: [], create: [], resume: null, back: null, tells: [], tellsBase: false };
  if (capabilities === null) {
    const error = refusal(
      "provider_unavailable",
      "unknown_instance",
      `there is no provider instance "${provider.instance}"`,
      "Choose one that is configured.",
    );
    return { ...blank, outcomes: [{ outcome: "unsupported", transferId: null, error }] };
  }
  const usable = store.providerThreadsOf(thread.id).filter((p) => p.instance === provider.instance && !p.lost);
  const newest = usable.at(-1);
  const rewind = newest === undefined ? null : rewindInPlace(store, thread, newest, capabilities);
  const resume = rewind === null ? (usable.findLast((p) => p.cutAfter == null) ?? null) : { ...rewind.native, coverage: rewind.knows };
  const start: StartContext = { ...blank, resume };
  const transfers = openTransfersTo(store, thread.id, true);
  const missing = missingRuns(store, thread, resume, run.ordinal);
  const fork = transfers.find((t) => t.type === "fork");
  const needsBase = hasBase(thread) && resume?.coverage.base !== true;
  const handoffTellsBase = needsBase && fork === undefined;

  for (const transfer of transfers) {
    if (transfer.type === "provider_handoff") continue;
    if (transfer.type === "subagent_spawn" && run.ordinal > 1) {
      start.outcomes.push(taskLater(ids, transfer, missing, start));
      continue;
    }
    const at = nativePoint(store, transfer, provider, capabilities);
    start.outcomes.push(outcomeOf(workOn(ids, transfer, provider, at, start), at));
  }
  start.tellsBase = needsBase;
  const handoffs = transfers.filter((t) => t.type === "provider_handoff");
  const forkAt = resume === null && fork === undefined ? rewindPointOf(store, thread, missing, provider.instance, capabilities) : null;
  const back: GoBack | null = rewind !== null ? { by: "inPlace", at: rewind } : forkAt !== null ? { by: "fork", at: forkAt } : null;
  if (handoffTellsBase || missing.length > 0 || back !== null) {
    const upTo = missing.at(-1) ?? (rewind === null ? undefined : runAt(store, thread, rewind.afterOrdinal));
    tellMissing(ids, { thread, provider, resume, missing, upTo, handoffs, tellsBase: handoffTellsBase }, start, back);
  } else for (const t of handoffs) start.outcomes.push({ outcome: "none", transferId: t.id });

  start.tells = missing.map((r) => r.ordinal);
  // A native fork opens a conversation of its own.
  if (start.outcomes.some((o) => o.outcome === "native" && o.at !== null)) start.resume = null;
  return { ...start, outcomes: inCommitOrder(start.outcomes, transfers) };
}

/** The transfer itself where what it is fits this provider, else its successor. */
function workOn(
  ids: Identifiers,
  transfer: ContextTransfer,
  provider: ProviderChoice,
  at: NativePoint | null,
  start: StartContext,
): WorkedOn {
  const sameProvider = transfer.targetProvider === provider.instance;
  const fits =
    transfer.status === "pending" ||
    (transfer.status === "resolved_portable" && sameProvider) ||
    (transfer.status === "resolved_native" && sameProvider && at !== null);
  if (fits) return { id: transfer.id, input: transfer, existing: transfer };
  const successor = successorOf(ids, transfer);
  start.create.push(successor);
  return { id: successor.id, input: successor, existing: null };
}

/**
 * A task that its own run was not given. That run is part of what is told now, and the task with it; what was handed over
 * besides is still to be told. It is never the message of a later run, as it was to be that of the first.
 */
function taskLater(ids: Identifiers, transfer: ContextTransfer, missing: readonly Run[], start: StartContext): StartOutcome {
  const isTold = missing.some((r) => r.ordinal === 1);
  if (isTold && transfer.content === null) return { outcome: "none", transferId: transfer.id };
  if (transfer.status === "pending")
    return { outcome: "portable", transfer: { id: transfer.id, input: transfer, existing: transfer }, reuse: false };
  const successor = successorOf(ids, transfer);
  start.create.push(successor);
  return { outcome: "portable", transfer: { id: successor.id, input: successor, existing: null }, reuse: false };
}

function successorOf(ids: Identifiers, old: ContextTransfer): TransferInput {
  const { type, sourceThreadId, targetThreadId, sourcePoint, basePoint, sourceProvider, createdBy, taskId, content, outcome } = old;
  const id = ids.next("transfer");
  return {
    id,
    type,
    sourceThreadId,
    targetThreadId,
    sourcePoint,
    basePoint,
    sourceProvider,
    targetProvider: null,
    supersedes: old.id,
    createdBy,
    taskId,
    content,
    outcome,
  };
}

/** Where a transfer can be honoured natively; a fork that this adapter refused once is retold, not tried again. */
function nativePoint(store: Store, transfer: ContextTransfer, provider: ProviderChoice, can: ProviderCapabilities): NativePoint | null {
  const refusedBefore =
    transfer.status === "failed" && transfer.targetProvider === provider.instance && transfer.resolution?.kind === "native_fork";
  if (refusedBefore || transfer.status === "resolved_portable") return null;
  return nativePointOf(store, transfer, provider.instance, can);
}

function outcomeOf(transfer: WorkedOn, at: NativePoint | null): StartOutcome {
  if (at !== null) return { outcome: "native", transfer, at };
  const reuse = transfer.existing?.status === "resolved_portable";
  return { outcome: transfer.input.type === "merge_back" ? "delta" : "portable", transfer, reuse };
}

type Missing = {
  thread: AppThread;
  provider: ProviderChoice;
  resume: ProviderThread | null;
  missing: Run[];
  /** The last run that the provider is to know when it has been told. */
  upTo: Run | undefined;
  handoffs: ContextTransfer[];
  tellsBase: boolean;
};

/** One provider handoff for all that this provider does not know; an open one is used where it still says the same. */
function tellMissing(ids: Identifiers, m: Missing, start: StartContext, back: GoBack | null): void {
  const wanted = m.upTo === undefined ? { runId: null, ordinal: 0 } : { runId: m.upTo.id, ordinal: m.upTo.ordinal };
  const fits = (t: ContextTransfer, status: ContextTransfer["status"]) =>
    t.status === status && t.targetProvider === m.provider.instance && t.sourcePoint.ordinal === wanted.ordinal;
  const native = nativelyBack(m, back);
  const usable = m.handoffs.find(
    (t) => t.status === "pending" || fits(t, "resolved_portable") || (fits(t, "resolved_native") && isSame(t, native)),
  );
  const replaced = usable === undefined ? m.handoffs.at(-1) : undefined;
  for (const t of m.handoffs) if (t !== usable && t !== replaced) start.outcomes.push({ outcome: "none", transferId: t.id });
  const transfer = usable === undefined ? made(ids, m, wanted, replaced, start) : { id: usable.id, input: usable, existing: usable };
  if (back !== null) start.back = { ...back, transferId: transfer.id };
  const reuse = usable?.status === "resolved_portable";
  const isDelta = back?.by === "fork" || (!m.tellsBase && m.resume !== null);
  const outcome = isDelta ? ("delta" as const) : ("portable" as const);
  start.outcomes.push(native === null || reuse ? { outcome, transfer, reuse } : { outcome: "native", transfer, at: null });
}

/** The conversation that brings all that is to be known without a word told; null: something is told. */
function nativelyBack(m: Missing, back: GoBack | null): { by: GoBack["by"]; ref: NativeRef } | null {
  if (back === null) return null;
  if (back.by === "inPlace") return m.missing.length > 0 || m.tellsBase ? null : { by: back.by, ref: back.at.native.nativeRef };
  return m.missing.some((run) => run.ordinal > back.at.upTo) ? null : { by: back.by, ref: back.at.nativeRef };
}

function isSame({ resolution }: ContextTransfer, native: ReturnType<typeof nativelyBack>): boolean {
  if (native === null || resolution?.kind !== "native_fork") return false;
  return resolution.providerThreadRef.id === native.ref.id && (resolution.inPlace ?? false) === (native.by === "inPlace");
}

function made(
  ids: Identifiers,
  m: Missing,
  wanted: Pick<TransferInput["sourcePoint"], "runId"> & { ordinal: number },
  replaced: ContextTransfer | undefined,
  start: StartContext,
): WorkedOn {
  const input: TransferInput = {
    id: ids.next("transfer"),
    type: "provider_handoff",
    sourceThreadId: m.thread.id,
    targetThreadId: m.thread.id,
    sourcePoint: pointAt({ threadId: m.thread.id, ...wanted }),
    basePoint: basePointOf(m),
    sourceProvider: m.thread.provider?.instance ?? null,
    targetProvider: m.provider.instance,
    supersedes: replaced?.id ?? null,
    createdBy: replaced?.createdBy ?? "system",
    taskId: null,
    content: null,
    outcome: null,
  };
  start.create.push(input);
  return { id: input.id, input, existing: null };
}

function runAt(store: Store, thread: AppThread, ordinal: number): Run | undefined {
  return runsOf(store, thread.id, { min: ordinal, max: ordinal })[0];
}

/** The last run before the first missing one: what the provider is known to know. */
function basePointOf(m: Missing): TransferInput["basePoint"] {
  const first = m.missing[0];
  if (m.tellsBase || m.resume === null || first === undefined || first.ordinal === 1) return null;
  return pointAt({ threadId: m.thread.id, runId: null, ordinal: first.ordinal - 1 });
}

/** Oldest first, by the order in which they were committed; what is made now comes last, except in place of what it replaces. */
function inCommitOrder(outcomes: StartOutcome[], transfers: readonly ContextTransfer[]): StartOutcome[] {
  const place = new Map<TransferId, number>(transfers.map((t, i) => [t.id, i]));
  const of = (o: StartOutcome) => {
    if (o.outcome === "none") return place.get(o.transferId) ?? 0;
    if (o.outcome === "unsupported") return -1;
    return (
      place.get(o.transfer.id) ??
      (o.transfer.input.supersedes === null ? undefined : place.get(o.transfer.input.supersedes)) ??
      transfers.length
    );
  };
  return [...outcomes].sort((a, b) => of(a) - of(b));
}
