import type { EnvironmentId } from "../../../schemas/ids.ts";
import type { LinkNotice } from "../../../schemas/wire.ts";
import { keepText } from "../content.ts";
import { needThread, type Plan, type PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { openTransfersTo, threadFrom, transferFrom } from "../typed-actors.ts";
import { resultText } from "./move-offer.ts";

/** Sends on, once, what came for a thread after it had moved: the notice is written in the commit that closes the transfer. */
export const forwardThread: Plan<"thread.forward"> = (command, context) => {
  const thread = threadFrom(context.overlay, command.threadId);
  const to = thread?.status === "departed" ? thread.departed : undefined;
  // Without a link they wait, and are shown where they are.
  if (to === undefined || !context.outbox.reaches(to.environmentId)) return { forwarded: 0 };
  const late = openTransfersTo(context.overlay, command.threadId, true).filter((t) => t.type === "subagent_result" && t.claim === null);
  for (const transfer of late) {
    const outcome = transfer.outcome ?? { ending: "interrupted" as const, error: null };
    const notice = { kind: "thread.late" as const, threadId: to.threadId, transferId: transfer.id, outcome };
    context.outbox.write(to.environmentId, { type: "notice", notice: { ...notice, text: resultText(context, transfer) } });
    context.uow.tell({ to: transfer.id, event: { type: "transfer.superseded", by: null } });
  }
  return { forwarded: late.length };
};

/** What a peer sends on for a thread that has come from it. The next run is told. */
export function takeLate(context: PlanContext, from: EnvironmentId, notice: Extract<LinkNotice, { kind: "thread.late" }>): void {
  const thread = needThread(context, notice.threadId);
  if (thread.movedFrom?.environmentId !== from)
    refuse("thread_not_found", "unknown_thread", `${notice.threadId} has not come from this peer`, "It is kept for reading.");
  if (transferFrom(context.overlay, notice.transferId) !== null) return;
  context.uow.create(notice.transferId, {
    type: "transfer.created",
    input: {
      id: notice.transferId,
      type: "subagent_result",
      sourceThreadId: thread.movedFrom.threadId,
      targetThreadId: thread.id,
      sourcePoint: {
        threadId: thread.movedFrom.threadId,
        environmentId: from,
        runId: null,
        ordinal: null,
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
      taskId: null,
      content: keepText(context.overlay, notice.text),
      outcome: notice.outcome,
    },
  });
  context.uow.tell({ to: thread.id, event: { type: "thread.result_arrived", transferId: notice.transferId, wake: false } });
}
