import { continuationCommandId, importThreadId, type RunId, type ThreadId } from "../../../schemas/ids.ts";
import type { ImportRequest } from "../../../schemas/import.ts";
import type { Refusal } from "../../../schemas/refusal.ts";
import { createdBy, mayChange, modeCap, originOf, settleModes } from "../access.ts";
import { measuredDigest, payloadDigest } from "../digest.ts";
import { keepHistory } from "../imported-history.ts";
import { needThread, type Plan, type PlanContext } from "../plan.ts";
import { Refused, refuse } from "../refused.ts";
import { isBuried } from "../tombstones.ts";
import { threadFrom } from "../typed-actors.ts";
import { blankThread, needProvider, ownWorkspace, settleProject, settleWorkspace } from "./thread-create.ts";
import { queueRun } from "./thread-send.ts";

type ImportAnswer = {
  threadId: ThreadId;
  created: boolean;
  runId: RunId | null;
  continuation: "none" | "started" | "already" | "refused";
  refusal?: Refusal;
};

/**
 * Two commands behind one door (decision 24): the import itself, in one atomic write, and the start of its continuation
 * under an id that is derived from the thread. So a retry, under whatever command id, makes nothing twice, and starts a
 * continuation that could not be started the first time (cases I01, I04).
 */
export const importThread: Plan<"thread.import"> = (command, context) => {
  const { caller } = context;
  // Over a link the source is the pinned peer, never a field of the message (links.md, invariant 10).
  const request: ImportRequest = caller.kind === "link" ? { ...command.import, sourceEnvironmentId: caller.environmentId } : command.import;
  const threadId = importThreadId(request.sourceEnvironmentId, request.sourceThreadId, request.handoffId);
  const { digest, bytes } = measuredDigest(request);
  const known = context.overlay.importDigest(threadId);
  if (isBuried(known))
    refuse("invalid_request", "move_taken_back", `${threadId} was taken back before it arrived`, "Use another handoffId.", { threadId });
  if (known !== null && known !== digest)
    refuse(
      "idempotency_conflict",
      "import_differs",
      `${threadId} was imported with other content`,
      "Use another handoffId for another import.",
      { threadId },
    );
  if (known === null) {
    holdImportSize(context, bytes);
    makeImport(context, threadId, request, digest, command.ownWorktree ?? false);
  }
  return { threadId, created: known === null, ...continueImport(context, threadId, request) };
};

/** The size of a whole import request (contract §6); `bytes` of its canonical JSON. */
export function holdImportSize(context: PlanContext, bytes: number): void {
  const { importRequestBytes: limit } = context.settings;
  if (bytes > limit)
    refuse(
      "invalid_request",
      "limit_exceeded",
      `the request has ${bytes} bytes, an import (importRequestBytes) takes ${limit}`,
      "Import a shorter part of it, or raise limits.importRequestBytes.",
    );
}

function makeImport(context: PlanContext, threadId: ThreadId, request: ImportRequest, digest: string, ownWorktree: boolean): void {
  const cap = modeCap(context, "threadImport");
  const modes = settleModes(request, context.settings.modes, cap);
  const projectId = settleProject(context, request.projectId);
  const unnamed = ownWorktree ? ownWorkspace(context, { projectId }) : ({ strategy: "root" } as const);
  const workspace =
    request.worktreePath === undefined
      ? unnamed
      : settleWorkspace(context, projectId, { strategy: "existing", path: request.worktreePath });
  const checkpointId = context.uow.ids.next("checkpoint");
  context.uow.create(threadId, {
    type: "thread.created",
    input: {
      ...blankThread(threadId),
      projectId,
      title: request.title ?? "",
      historyOrigin: "v1_import",
      importedFrom: { environmentId: request.sourceEnvironmentId, threadId: request.sourceThreadId, handoffId: request.handoffId },
      modes,
      workspace,
      preferred: request.provider === undefined ? null : { provider: request.provider, afterOrdinal: 0 },
      linkOrigin: originOf(context, null),
      latestStable: { runId: null, ordinal: 0, checkpointId },
      createdBy: createdBy(context.caller),
    },
  });
  context.overlay.putImport(threadId, digest);
  keepHistory(context, threadId, checkpointId, request.messages);
}

/** Starts the continuation unless its own receipt says that it was started; a refusal leaves the import as it is. */
function continueImport(context: PlanContext, threadId: ThreadId, request: ImportRequest): Omit<ImportAnswer, "threadId" | "created"> {
  const prompt = request.continuationPrompt;
  if (prompt === undefined) return { runId: null, continuation: "none" };
  const commandId = continuationCommandId(threadId);
  const before = context.overlay.receipt(commandId);
  if (before !== null) return { runId: (before.response as { runId: RunId }).runId, continuation: "already" };
  const mark = context.overlay.mark();
  try {
    if (threadFrom(context.overlay, threadId)?.status === "deleted")
      refuse("thread_not_sendable", "deleted", `${threadId} was deleted`, "Import it under another handoffId.");
    const thread = needThread(context, threadId);
    // The link that asks may be another one to the same peer; its key names the peer, which is all that counts here.
    if (context.caller.kind === "thread" || context.caller.kind === "client") mayChange(context, thread);
    if (request.provider !== undefined) needProvider(context, request.provider);
    const { runId } = queueRun(context, thread, {
      content: { text: prompt },
      requested: request.provider ?? null,
      modes: thread.modes,
      createdBy: createdBy(context.caller),
    });
    context.overlay.putReceipt({ commandId, digest: payloadDigest({ threadId, prompt }), response: { runId } });
    return { runId, continuation: "started" };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    context.overlay.undoTo(mark);
    return { runId: null, continuation: "refused", refusal: error.refusal };
  }
}
