import { importThreadId } from "../../../schemas/ids.ts";
import { limits } from "../../../schemas/limits.ts";
import { refusal } from "../../../schemas/refusal.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import { createdBy, mayChange, mayUseLink } from "../access.ts";
import { needPresent, needThread, type Plan, type PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { openMoveOf } from "../typed-actors.ts";
import { packageVersion } from "../version.ts";

/**
 * Begins to move a thread to a linked environment (contract §6): nothing of it changes before the peer has said that it has
 * all that the thread needs, and the thread is quiet.
 */
export const moveThread: Plan<"thread.move"> = (command, context) => {
  const { uow, settings } = context;
  const thread = needPresent(context, command.threadId);
  mayChange(context, thread);
  if (command.environmentId === settings.environmentId)
    refuse("invalid_request", "same_environment", `${thread.id} is there already`, "Name another environment: ropewalk link list");
  mayUseLink(context, thread, command.environmentId);
  holdMovable(context, thread);
  const repository = context.overlay.project(thread.projectId)?.repository ?? null;
  const withoutCode = command.withoutCode ?? false;
  const moveId = uow.ids.next("move");
  const preflightId = uow.ids.next("req");
  const targetThreadId = importThreadId(settings.environmentId, thread.id, moveId);
  const provider = command.provider ?? thread.preferred?.provider ?? thread.provider;
  uow.create(moveId, {
    type: "move.created",
    input: {
      id: moveId,
      threadId: thread.id,
      environmentId: command.environmentId,
      targetThreadId,
      continuationPrompt: command.continuationPrompt ?? null,
      provider,
      withoutCode,
      preflightId,
      createdBy: createdBy(context.caller),
    },
  });
  context.outbox.ask(
    command.environmentId,
    preflightId,
    {
      kind: "move.preflight",
      move: {
        moveId,
        threadId: thread.id,
        provider,
        repository: withoutCode ? null : repository,
        commits: (context.facts.get(thread.id)?.commits ?? []).slice(0, limits.moveCommits),
        version: packageVersion(),
      },
    },
    moveId,
  );
  return { moveId, threadId: targetThreadId, requestId: preflightId };
};

function holdMovable(context: PlanContext, thread: AppThread): void {
  const open = openMoveOf(context.overlay, thread.id);
  if (open !== null)
    refuse("invalid_request", "moving", `a move of ${thread.id} is under way`, `Cancel it first: ropewalk move ${thread.id} --cancel`, {
      moveId: open.id,
      environmentId: open.environmentId,
    });
  if (thread.task !== null)
    refuse(
      "invalid_request",
      "works_for_another",
      `${thread.id} works on a task, whose result is waited for here`,
      "Move the thread that it works for, or fork it and move the fork.",
      thread.task,
    );
}

/** Takes a move back: at once while it waits; once the thread departs, by asking the peer, whose decision stands. */
export const cancelMove: Plan<"thread.move_cancel"> = (command, context) => {
  const thread = needThread(context, command.threadId);
  mayChange(context, thread);
  const move = openMoveOf(context.overlay, thread.id);
  if (move === null)
    refuse("invalid_request", "no_move", `no move of ${thread.id} is under way`, `See where it is: ropewalk show ${thread.id}`);
  if (move.status === "departing") {
    context.uow.tell({ to: move.id, event: { type: "move.abort_requested" } });
    return { moveId: move.id, outcome: "asked" };
  }
  const error = refusal("invalid_request", "cancelled", "the move was taken back", "Move it again whenever you want.");
  context.uow.tell({ to: move.id, event: { type: "move.cancelled", error } });
  return { moveId: move.id, outcome: "cancelled" };
};
