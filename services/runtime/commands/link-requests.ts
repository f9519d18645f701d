import type { ThreadId } from "../../../schemas/ids.ts";
import type { LinkAnswer, LinkRequest } from "../../../schemas/wire.ts";
import { modeCap, originOf, settleModes } from "../access.ts";
import { depthBudget, holdLinkFence } from "../link-fence.ts";
import type { PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { asThread } from "../typed-actors.ts";
import { abortArrival, acceptOffer } from "./move-arrive.ts";
import { checkMove } from "./move-preflight.ts";
import { makeChild } from "./task-spawn.ts";
import { needProvider } from "./thread-create.ts";
import { importThread } from "./thread-import.ts";
import { cancelTasksOf, interruptRuns } from "./thread-interrupt.ts";

/** Decides a peer's request with the peer as the caller: within its grant, and stamped with its link. */
export function answerLinkRequest(context: PlanContext, request: LinkRequest): LinkAnswer {
  // What a move needs is for its own handlers: its requests are no commands.
  if (request.kind === "thread.import" || request.kind === "task.spawn" || request.kind === "task.cancel")
    holdLinkFence(request.kind, context);
  switch (request.kind) {
    case "thread.import":
      return { ok: true, result: importThread({ type: "thread.import", import: request.import }, context) };
    case "task.spawn":
      return { ok: true, result: spawnFor(context, request) };
    case "task.cancel":
      return { ok: true, result: cancelFor(context, request) };
    case "move.preflight":
      return { ok: true, result: checkMove(context, request.move) };
    case "thread.move":
      return { ok: true, result: acceptOffer(context, request.offer) };
    case "move.abort":
      return { ok: true, result: abortArrival(context, request) };
  }
}

function spawnFor(context: PlanContext, request: Extract<LinkRequest, { kind: "task.spawn" }>): Record<string, unknown> {
  const cap = modeCap(context, "spawn");
  const modes = request.modesAsked ? settleModes(request.modes, request.modes, cap) : settleModes({}, request.modes, cap);
  if (request.provider !== null) needProvider(context, request.provider);
  const deepest = Math.min(
    context.settings.taskDepth,
    depthBudget(context, { linkOrigin: originOf(context, null) }) ?? Number.POSITIVE_INFINITY,
  );
  if (request.depth > deepest)
    refuse("invalid_request", "limit_exceeded", `subagents may be nested ${deepest} deep here`, "Do this part where it is.");
  const origin = originOf(context, null);
  if (origin === null) refuse("capability_denied", "not_granted", "only a link can ask this", "Spawn the task with task.spawn.");
  const id = context.uow.ids.next("thread");
  const child = makeChild(context, {
    id,
    parent: { threadId: request.parentThreadId, environmentId: origin.environmentId, rootThreadId: request.rootThreadId },
    projectId: context.scratch.projectId,
    workspace: { strategy: "root" },
    title: request.title,
    task: { taskId: request.taskId, environmentId: origin.environmentId },
    prompt: request.prompt,
    handedOver: request.handedOver,
    provider: request.provider,
    modes,
    depth: request.depth,
    linkOrigin: origin,
    createdBy: "agent",
  });
  return { childThreadId: id satisfies ThreadId, runId: child.runId };
}

/** Stops the child of a peer's task, if it is here; its end goes back as the result that it is. */
function cancelFor(context: PlanContext, request: Extract<LinkRequest, { kind: "task.cancel" }>): Record<string, unknown> {
  const { caller } = context;
  const [row] = context.overlay.actorsBy({ kind: "thread", peer: request.taskId });
  const child = row === undefined ? null : asThread(row);
  if (child === null || caller.kind !== "link" || child.linkOrigin?.linkId !== caller.linkId)
    refuse("task_not_found", "unknown_task", `nothing of ${request.taskId} is here`, "It was refused or never arrived.");
  cancelTasksOf(context, child.id, request.reason, null);
  return { threadId: child.id, runIds: interruptRuns(context, child.id, request.reason) };
}
