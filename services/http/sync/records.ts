import { LinkLine, ThreadLine } from "../../../schemas/environment-view.ts";
import type { Link } from "../../../schemas/link.ts";
import type { ProviderChoice } from "../../../schemas/provider.ts";
import type { Run, RunStatus } from "../../../schemas/run.ts";
import type { Task } from "../../../schemas/task.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import { RunView, TaskView, ThreadFacts, ThreadState, TransferView } from "../../../schemas/thread-view.ts";
import type { ContextTransfer } from "../../../schemas/transfer.ts";
import { lean } from "./lean.ts";

const leanFacts = lean(ThreadFacts);
const leanState = lean(ThreadState);
const leanRun = lean(RunView);
const leanTransfer = lean(TransferView);
const leanTask = lean(TaskView);
const leanLine = lean(ThreadLine);
const leanLink = lean(LinkLine);

export function threadFacts(thread: AppThread): ThreadFacts {
  const { lineage } = thread;
  return leanFacts({
    ...thread,
    parentThreadId: lineage.parentThreadId,
    parentEnvironmentId: lineage.parentEnvironmentId,
    relationshipToParent: lineage.relationshipToParent,
    rootThreadId: lineage.rootThreadId === thread.id ? null : lineage.rootThreadId,
  });
}

export function threadState(thread: AppThread): ThreadState {
  const { provider, preferred, latestStable } = thread;
  const preferredProvider = preferred?.provider ?? null;
  return leanState({ ...thread, ...served(provider), preferredProvider, stableOrdinal: latestStable?.ordinal ?? null });
}

export function runView(run: Run): RunView {
  const openRequests = run.openRequests.map(({ requestId, itemId }) => ({ requestId, itemId }));
  return leanRun({ ...run, ...served(run.provider), openRequests });
}

const served = (choice: ProviderChoice | null) => ({ provider: choice?.instance ?? null, model: choice?.model ?? null });

export function transferView(transfer: ContextTransfer): TransferView {
  const { resolution, outcome } = transfer;
  return leanTransfer({
    ...transfer,
    handoffId: resolution === null || resolution.kind === "native_fork" ? null : resolution.contextHandoffId,
    ending: outcome?.ending ?? null,
    error: transfer.error ?? outcome?.error ?? null,
  });
}

export function taskView(task: Task): TaskView {
  return leanTask(task);
}

/** `activity`: what the thread's active run is doing. */
export function threadLine(thread: AppThread, number: number, activity: RunStatus | null): ThreadLine {
  const { lineage } = thread;
  return leanLine({
    ...thread,
    number,
    activity,
    queued: thread.queue.length,
    provider: thread.provider?.instance ?? null,
    parentThreadId: lineage.parentThreadId,
    relationshipToParent: lineage.relationshipToParent,
    rootThreadId: lineage.rootThreadId === thread.id ? null : lineage.rootThreadId,
  });
}

export function linkLine(link: Link): LinkLine {
  return leanLink(link);
}
