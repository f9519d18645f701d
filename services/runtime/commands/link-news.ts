import type { Caller } from "../../../schemas/command.ts";
import type { TaskId } from "../../../schemas/ids.ts";
import { ThreadId } from "../../../schemas/ids.ts";
import { refusal } from "../../../schemas/refusal.ts";
import type { LinkBody, LinkNotice } from "../../../schemas/wire.ts";
import { keepText } from "../content.ts";
import type { PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { taskFrom } from "../typed-actors.ts";
import { takeMoveAnswer } from "./move-answers.ts";
import { takeLate } from "./thread-forward.ts";

/** An answer to a request of ours: the request is closed, and who waited for it is told. */
export function takeAnswer(context: PlanContext, body: Extract<LinkBody, { type: "answer" }>): void {
  const open = context.overlay.outgoingRequest(body.requestId);
  const { caller } = context;
  if (open === null || caller.kind !== "link" || open.environmentId !== caller.environmentId)
    refuse("invalid_request", "nobody_asked", `${body.requestId} was never asked of this peer`, "It is kept for reading.");
  if (open.answer !== null) return;
  context.overlay.putOutgoingRequest({ ...open, answer: body.answer });
  takeMoveAnswer(context, open, body.answer);
  if (open.kind === "task.spawn") {
    const to = open.subject as TaskId;
    const child = body.answer.ok ? ThreadId.safeParse(body.answer.result.childThreadId) : null;
    if (child?.success === true) context.uow.report({ to, event: { type: "task.accepted", childThreadId: child.data } });
    else context.uow.report({ to, event: { type: "task.refused", error: body.answer.ok ? senseless : body.answer.refusal } });
  }
}

const senseless = refusal(
  "orchestration_error",
  "answer_not_understood",
  "the peer's answer names no child thread",
  "Update the older of the two environments, then spawn again.",
);

/** News of a task of ours that runs at the peer, which only that peer may tell, or of a thread that has come from it. */
export function takeNotice(context: PlanContext, peer: Extract<Caller, { kind: "link" }>, notice: LinkNotice): void {
  if (notice.kind === "thread.late") {
    takeLate(context, peer.environmentId, notice);
    return;
  }
  const task = taskFrom(context.overlay, notice.taskId);
  if (task === null || task.childEnvironmentId !== peer.environmentId)
    refuse("task_not_found", "unknown_task", `${notice.taskId} does not run at this peer`, "It is kept for reading.");
  if (notice.kind === "task.started") {
    context.uow.report({ to: task.id, event: { type: "task.started" } });
    return;
  }
  const { kind: _kind, taskId: _taskId, text, ...rest } = notice;
  context.uow.report({
    to: task.id,
    event: { type: "task.child_run_ended", ...rest, result: text === null ? null : keepText(context.overlay, text) },
  });
}
