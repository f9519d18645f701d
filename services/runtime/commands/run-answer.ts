import { createdBy, mayChange } from "../access.ts";
import { addItem, needRun, needThread, type Plan } from "../plan.ts";
import { refuse } from "../refused.ts";

/** Answers an approval or a question of a run. Once: a second answer finds nothing open. */
export const answerRequest: Plan<"run.answer"> = (command, context) => {
  const run = needRun(context, command.runId);
  const thread = needThread(context, run.threadId);
  mayChange(context, thread);
  // What asks is what would be allowed: an agent that could answer itself would have no limits at all.
  if (context.caller.kind === "thread" && context.caller.threadId === thread.id)
    refuse(
      "capability_denied",
      "own_request",
      "an agent cannot answer what its own run asks",
      "A person answers it: ropewalk ok, no or answer.",
    );
  if (!run.openRequests.some((r) => r.requestId === command.requestId))
    refuse(
      "invalid_request",
      "request_not_open",
      `${run.id} asks nothing under ${command.requestId} (any more)`,
      "See what is open with: ropewalk show THREAD",
    );
  addItem(context, {
    threadId: run.threadId,
    runId: run.id,
    runOrdinal: run.ordinal,
    body: { kind: "approval_answer", requestId: command.requestId, answer: command.answer, by: createdBy(context.caller) },
  });
  context.uow.tell({ to: run.id, event: { type: "run.request_answered", requestId: command.requestId, answer: command.answer } });
  return { runId: run.id };
};
