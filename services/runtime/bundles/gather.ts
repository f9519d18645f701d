import type { BundleRecord } from "../../../schemas/bundle.ts";
import type { ContextHandoff } from "../../../schemas/handoff.ts";
import type { EnvironmentId, ThreadId } from "../../../schemas/ids.ts";
import type { TurnItem } from "../../../schemas/item.ts";
import { isEndedRun, type Run } from "../../../schemas/run.ts";
import { isEndedTask, type Task } from "../../../schemas/task.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import type { ContextTransfer } from "../../../schemas/transfer.ts";
import { type HistorySegment, historyOf } from "../history.ts";
import type { Store } from "../ports/store.ts";
import { asRun, asTask, asTransfer, threadFrom } from "../typed-actors.ts";
import { renamed } from "./names.ts";

/** A thread's own stretch of the conversation, and what belongs to it. */
type Part = {
  thread: AppThread;
  runs: Run[];
  items: TurnItem[];
  transfers: ContextTransfer[];
  tasks: Task[];
  handoffs: ContextHandoff[];
};

export type Gathered = { records: BundleRecord[]; parts: ThreadId[]; unfinishedRuns: number };

/**
 * What a thread's bundle holds: its stable state, and the history that it inherits, so that nothing else is needed. Ids of
 * what is in it become names by place, ids of what is elsewhere stay, with the environment that they are of.
 */
export function gather(store: Store, environmentId: EnvironmentId, threadId: ThreadId): Gathered | null {
  if (threadFrom(store, threadId) === null) return null;
  const parts = historyOf(store, threadId).flatMap((segment) => partOf(store, segment) ?? []);
  const names = new Map<string, string>();
  for (const [at, part] of parts.entries()) nameAll(names, part, at);
  const here = new Set(parts.map(({ thread }) => thread.id as string));
  const records: BundleRecord[] = [];
  const put = (kind: BundleRecord["kind"], data: object) =>
    records.push({ kind, data: JSON.parse(JSON.stringify(renamed(data, names))) as BundleRecord["data"] });
  for (const part of parts) put("thread", threadRecord(part, environmentId, here));
  for (const { runs } of parts) for (const run of runs) put("run", runRecord(run));
  for (const { thread, runs } of parts) for (const checkpoint of checkpointsOf(store, thread, runs)) put("checkpoint", checkpoint);
  for (const { transfers } of parts) for (const transfer of transfers) put("transfer", transferRecord(transfer, environmentId, here));
  for (const { handoffs } of parts) for (const handoff of handoffs) put("handoff", handoff);
  for (const { tasks } of parts) for (const task of tasks) put("task", taskRecord(task, environmentId));
  for (const { items } of parts) for (const { position: _, ...item } of items) put("item", { ...item, nativeId: null });
  for (const [digest, text] of blobsOf(store, records)) records.push({ kind: "blob", data: { digest, text } });
  const all = store.countBy({ kind: "run", owner: threadId });
  return { records, parts: parts.map(({ thread }) => thread.id), unfinishedRuns: all - (parts.at(-1)?.runs.length ?? 0) };
}

function partOf(store: Store, { threadId, toOrdinal, inherited }: HistorySegment): Part | null {
  const thread = threadFrom(store, threadId);
  if (thread === null) return null;
  const runs = store
    .actorsBy({ kind: "run", owner: threadId, maxOrdinal: toOrdinal })
    .map(asRun)
    .filter((run) => isEndedRun(run.status));
  const kept = new Set<string>(runs.map((run) => run.id));
  const items = store.items({ threadId, fromOrdinal: 0, toOrdinal }).filter(({ runId }) => runId === null || kept.has(runId));
  const transfers = store
    .actorsBy({ kind: "transfer", owner: threadId })
    .map(asTransfer)
    .filter(({ consumedByRunId }) => !inherited || (consumedByRunId !== null && kept.has(consumedByRunId)))
    .map(settled);
  const tasks = store
    .actorsBy({ kind: "task", owner: threadId })
    .map(asTask)
    .filter(({ status, parentRunId }) => isEndedTask(status) && (!inherited || (parentRunId !== null && kept.has(parentRunId))));
  const wanted = new Set<string>(
    transfers.flatMap(({ resolution }) => (resolution !== null && "contextHandoffId" in resolution ? [resolution.contextHandoffId] : [])),
  );
  const handoffs = transfers.flatMap(({ id }) => store.handoffsOf(id)).filter(({ id }) => wanted.has(id));
  return { thread, runs, items, transfers, tasks, handoffs };
}

/** What a run is at work on, or what only a native conversation of this machine could go on with, is open again elsewhere. */
function settled(transfer: ContextTransfer): ContextTransfer {
  const isOpen = ["pending", "resolved_native", "resolved_portable"].includes(transfer.status);
  return isOpen ? { ...transfer, status: "pending", claim: null, resolution: null } : { ...transfer, claim: null };
}

function nameAll(names: Map<string, string>, { thread, runs, items, transfers, tasks, handoffs }: Part, part: number): void {
  names.set(thread.id, `thread/${part}`);
  const number = (noun: string, records: readonly { id: string }[]) => {
    for (const [at, { id }] of records.entries()) names.set(id, `${noun}/${part}/${at}`);
  };
  number("run", runs);
  number("item", items);
  number("transfer", transfers);
  number("task", tasks);
  number("handoff", handoffs);
  const points = [
    ...runs.flatMap((run) => run.checkpointId ?? []),
    ...(thread.latestStable?.runId === null ? [thread.latestStable.checkpointId] : []),
  ];
  number(
    "checkpoint",
    points.map((id) => ({ id })),
  );
}

function threadRecord({ thread, runs }: Part, environmentId: EnvironmentId, here: ReadonlySet<string>): object {
  const { id, title, lineage, inherited, historyOrigin, provider, preferred, marks, createdBy, createdAt, latestStable } = thread;
  const { parentThreadId, parentEnvironmentId } = lineage;
  const isElsewhere = parentThreadId !== null && !here.has(parentThreadId);
  const stable =
    latestStable !== null && (latestStable.runId === null || runs.some((run) => run.id === latestStable.runId))
      ? latestStable
      : lastStable(runs);
  return {
    id,
    title,
    lineage: { ...lineage, parentEnvironmentId: isElsewhere ? (parentEnvironmentId ?? environmentId) : parentEnvironmentId },
    inherited,
    historyOrigin,
    provider,
    preferred,
    marks,
    createdBy,
    createdAt,
    latestStable: stable,
    lastOrdinal: runs.at(-1)?.ordinal ?? 0,
  };
}

/** Of a stretch that ends before the newest stable point of its thread. */
function lastStable(runs: readonly Run[]): AppThread["latestStable"] {
  const run = runs.findLast(({ status, checkpointId }) => status === "completed" && checkpointId !== null);
  return run?.checkpointId == null ? null : { runId: run.id, ordinal: run.ordinal, checkpointId: run.checkpointId };
}

/** Without what belongs to the process and the native conversation that served it. */
const runRecord = (run: Run): object => ({ ...run, attempt: null, plan: null, providerThreadId: null, turnRef: null, openRequests: [] });

/** The snapshots of files stay where they are. */
function checkpointsOf(store: Store, thread: AppThread, runs: readonly Run[]): object[] {
  const kept = new Set<string>(runs.flatMap((run) => run.checkpointId ?? []));
  return store
    .checkpointsOf(thread.id)
    .filter(({ id, runId }) => kept.has(id) || (runId === null && id === thread.latestStable?.checkpointId))
    .map(({ id, threadId, runId, ordinal, createdAt }) => ({ id, threadId, runId, ordinal, createdAt }));
}

function transferRecord(transfer: ContextTransfer, environmentId: EnvironmentId, here: ReadonlySet<string>): object {
  const placed = (point: ContextTransfer["sourcePoint"]) => ({
    ...point,
    environmentId: here.has(point.threadId) ? point.environmentId : (point.environmentId ?? environmentId),
  });
  const { sourcePoint, basePoint } = transfer;
  return { ...transfer, sourcePoint: placed(sourcePoint), basePoint: basePoint === null ? null : placed(basePoint) };
}

const taskRecord = (task: Task, environmentId: EnvironmentId): object => ({
  ...task,
  childEnvironmentId: task.childEnvironmentId ?? environmentId,
  requestId: null,
});

function blobsOf(store: Store, records: readonly BundleRecord[]): [digest: string, text: string][] {
  const digests = new Set<string>();
  const look = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) look(each);
    else if (typeof value === "object" && value !== null)
      for (const [key, member] of Object.entries(value))
        if (key === "blob" && typeof member === "object" && member !== null && "digest" in member) digests.add(String(member.digest));
        else look(member);
  };
  for (const { data } of records) look(data);
  return [...digests].sort().flatMap((digest): [string, string][] => {
    const bytes = store.blob(digest);
    return bytes === null ? [] : [[digest, new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)]];
  });
}
