import type { ItemId, RunId, ThreadId } from "../../../schemas/ids.ts";
import type { Content } from "../../../schemas/item.ts";
import type { Modes } from "../../../schemas/modes.ts";
import type { ProviderChoice } from "../../../schemas/provider.ts";
import { refusal } from "../../../schemas/refusal.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import { createdBy, mayChange, modeCap, settleModes } from "../access.ts";
import { grantBehind, holdOpenBudget } from "../link-fence.ts";
import { addItem, holdPresent, needPresent, type Plan, type PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { openMoveOf } from "../typed-actors.ts";
import { needProvider } from "./thread-create.ts";

export const sendMessage: Plan<"thread.send"> = (command, context) => {
  mayChange(context, needPresent(context, command.threadId));
  if (command.provider !== undefined) needProvider(context, command.provider);
  if (createdBy(context.caller) === "user") cancelPendingMove(context, command.threadId);
  const thread = needPresent(context, command.threadId);
  const grant = context.caller.kind === "link" ? (grantBehind(context, thread)?.kind ?? null) : null;
  const queued = queueRun(context, thread, {
    content: { text: command.text },
    requested: command.provider ?? null,
    modes: settleModes(command, thread.modes, modeCap(context, grant)),
    createdBy: createdBy(context.caller),
  });
  return { threadId: thread.id, ...queued };
};

/** A newer message of a person takes a move back that waits (contract §6). */
function cancelPendingMove(context: PlanContext, threadId: ThreadId): void {
  const move = openMoveOf(context.overlay, threadId);
  if (move?.status !== "pending") return;
  const why = refusal("invalid_request", "cancelled", "a newer message was sent to the thread", "Move it again when that is answered.");
  context.uow.tell({ to: move.id, event: { type: "move.cancelled", error: why } });
}

export type NewRun = {
  content: Extract<Content, { text: string }>;
  requested: ProviderChoice | null;
  modes: Modes;
  createdBy: "user" | "agent" | "system";
};

/** Puts a message into a thread as a run of its own: at once if the thread is idle, else behind what waits already. */
export function queueRun(context: PlanContext, thread: AppThread, run: NewRun): { runId: RunId; ordinal: number; messageItemId: ItemId } {
  if (thread.status === "deleted") refuse("thread_not_sendable", "deleted", `${thread.id} is deleted`, "Send to another thread.");
  holdPresent(thread);
  holdOpenBudget(context, thread);
  const id = context.uow.ids.next("run");
  const ordinal = thread.lastOrdinal + 1;
  const messageItemId = addItem(context, {
    threadId: thread.id,
    runId: id,
    runOrdinal: ordinal,
    body: { kind: "user_message", content: run.content },
  });
  context.uow.create(id, {
    type: "run.created",
    input: { id, threadId: thread.id, ordinal, messageItemId, requested: run.requested, modes: run.modes, createdBy: run.createdBy },
  });
  context.uow.tell({ to: thread.id, event: { type: "thread.run_queued", runId: id, ordinal } });
  return { runId: id, ordinal, messageItemId };
}
