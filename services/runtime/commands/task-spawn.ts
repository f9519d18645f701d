import type { EnvironmentId, RunId, TaskId, ThreadId } from "../../../schemas/ids.ts";
import { type Modes, narrower } from "../../../schemas/modes.ts";
import type { ProviderChoice } from "../../../schemas/provider.ts";
import type { AppThread, LinkOrigin, TaskRef } from "../../../schemas/thread.ts";
import { mayChange, mayUseLink, modeCap, originOf, settleModes } from "../access.ts";
import { depthBudget } from "../link-fence.ts";
import type { CommandOf } from "../plan.ts";
import { addItem, needPresent, needThread, type Plan, type PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { openTaskStatuses, runFrom } from "../typed-actors.ts";
import { blankThread, chosenWorkspace, needProvider } from "./thread-create.ts";
import { queueRun } from "./thread-send.ts";

/**
 * Spawns a subagent that the runtime owns (contract §6): task, child thread and run in one commit, here or, by a request
 * in the same commit, in another environment. Returns at once; waiting is something else.
 */
export const spawnTask: Plan<"task.spawn"> = (command, context) => {
  const parent = needPresent(context, command.parentThreadId);
  mayChange(context, parent);
  const parentRunId = activeParentRun(context, parent);
  const depth = parent.depth + 1;
  holdLimits(context, parent, depth);
  const cap = narrower(parent.modes, modeCap(context, "spawn"));
  const asked = command.runtimeMode !== undefined || command.interactionMode !== undefined;
  const modes = settleModes(command, cap, cap);
  const agent = context.caller.kind !== "user" && context.caller.kind !== "client";
  const taskId = context.uow.ids.next("task");
  const remote =
    command.environmentId !== undefined && command.environmentId !== context.settings.environmentId ? command.environmentId : null;
  if (remote !== null && command.workspace !== undefined)
    refuse(
      "invalid_request",
      "workspace_elsewhere",
      "where a subagent works in another environment is for that environment to say",
      "Leave the workspace out.",
    );
  if (remote === null && command.provider !== undefined) needProvider(context, command.provider);

  const childThreadId = remote === null ? context.uow.ids.next("thread") : null;
  const requestId = remote === null ? null : context.uow.ids.next("req");
  context.uow.create(taskId, {
    type: "task.created",
    input: {
      id: taskId,
      title: command.title ?? firstLine(command.prompt),
      parentThreadId: parent.id,
      parentRunId,
      rootThreadId: parent.lineage.rootThreadId,
      childEnvironmentId: remote,
      childThreadId,
      requestId,
      spawnedBy: agent ? "agent" : "user",
      depth,
    },
  });
  context.uow.tell({ to: parent.id, event: { type: "thread.task_attached", byAgent: agent } });
  addItem(context, {
    threadId: parent.id,
    runId: parentRunId,
    runOrdinal: parentRunId === null ? parent.lastOrdinal : (runFrom(context.overlay, parentRunId)?.ordinal ?? parent.lastOrdinal),
    body: { kind: "subagent", taskId, childThreadId, content: { text: command.prompt } },
  });

  if (remote !== null && requestId !== null) {
    askPeer(context, { command, parent, remote, requestId, taskId, depth, modes, asked });
    return { taskId, childThreadId: null, runId: null, requestId };
  }
  const child = makeChild(context, {
    id: childThreadId as ThreadId,
    parent: { threadId: parent.id, environmentId: null, rootThreadId: parent.lineage.rootThreadId },
    projectId: parent.projectId,
    workspace: chosenWorkspace(context, parent, command.workspace),
    title: command.title ?? firstLine(command.prompt),
    task: { taskId, environmentId: null },
    prompt: command.prompt,
    handedOver: command.handedOver ?? null,
    // A child is served as its parent is, unless somebody says otherwise.
    provider: command.provider ?? parent.provider ?? parent.preferred?.provider ?? null,
    modes,
    depth,
    linkOrigin: originOf(context, parent),
    createdBy: agent ? "agent" : "user",
  });
  return { taskId, childThreadId, runId: child.runId, requestId: null };
};

/** An agent may spawn only while its own run is under way; a person whenever the thread is there (case S09). */
function activeParentRun(context: PlanContext, parent: AppThread): RunId | null {
  const { caller } = context;
  const active = activeRun(context, parent);
  if (caller.kind === "thread") {
    const own = caller.threadId === parent.id ? active : activeRun(context, needThread(context, caller.threadId));
    // A run that was stopped may still call; a later run of the same thread is not its own.
    if (active === null || own === null || (caller.runId !== null && caller.runId !== own))
      refuse(
        "parent_not_active",
        "parent_not_active",
        `${caller.runId ?? caller.threadId} is not under way in ${parent.id}`,
        "A subagent can be spawned only while its parent's run is active.",
      );
  }
  return active;
}

function activeRun(context: PlanContext, thread: AppThread): RunId | null {
  const run = thread.activeRunId === null ? null : runFrom(context.overlay, thread.activeRunId);
  return run !== null && ["starting", "running", "waiting"].includes(run.status) ? run.id : null;
}

/** Depth and width are bounded before anything is made (decision 33, case S11). */
function holdLimits(context: PlanContext, parent: AppThread, depth: number): void {
  const { taskOpenChildren } = context.settings;
  const taskDepth = Math.min(context.settings.taskDepth, depthBudget(context, parent) ?? Number.POSITIVE_INFINITY);
  if (depth > taskDepth)
    refuse(
      "invalid_request",
      "limit_exceeded",
      `subagents may be nested ${taskDepth} deep, this one would be ${depth}`,
      "Do this part yourself, or raise limits.taskDepth.",
    );
  const open = context.overlay.countBy({ kind: "task", peer: parent.lineage.rootThreadId, statuses: openTaskStatuses });
  if (open >= taskOpenChildren)
    refuse(
      "invalid_request",
      "limit_exceeded",
      `${open} subagents of this tree are open, the limit is ${taskOpenChildren}`,
      "Wait for some of them, or raise limits.taskOpenChildren.",
    );
}

export type NewChild = {
  id: ThreadId;
  parent: { threadId: ThreadId; environmentId: EnvironmentId | null; rootThreadId: ThreadId };
  projectId: AppThread["projectId"];
  workspace: AppThread["workspace"];
  title: string;
  task: TaskRef;
  prompt: string;
  handedOver: string | null;
  provider: ProviderChoice | null;
  modes: Modes;
  depth: number;
  linkOrigin: LinkOrigin | null;
  createdBy: "user" | "agent";
};

/** Child thread, spawn transfer and first run: exactly the task, and what the caller chose to hand over (case S10). */
export function makeChild(context: PlanContext, child: NewChild): { runId: RunId } {
  const { uow } = context;
  uow.create(child.id, {
    type: "thread.created",
    input: {
      ...blankThread(child.id),
      projectId: child.projectId,
      title: child.title,
      lineage: {
        parentThreadId: child.parent.threadId,
        parentEnvironmentId: child.parent.environmentId,
        relationshipToParent: "subagent",
        rootThreadId: child.parent.rootThreadId,
      },
      modes: child.modes,
      workspace: child.workspace,
      linkOrigin: child.linkOrigin,
      task: child.task,
      depth: child.depth,
      createdBy: child.createdBy,
    },
  });
  const transferId = uow.ids.next("transfer");
  uow.create(transferId, {
    type: "transfer.created",
    input: {
      id: transferId,
      type: "subagent_spawn",
      sourceThreadId: child.parent.threadId,
      targetThreadId: child.id,
      sourcePoint: {
        threadId: child.parent.threadId,
        environmentId: child.parent.environmentId,
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
      createdBy: child.createdBy,
      taskId: child.task.taskId,
      content: child.handedOver === null ? null : { text: child.handedOver },
      outcome: null,
    },
  });
  if (child.task.environmentId === null) uow.tell({ to: child.task.taskId, event: { type: "task.accepted", childThreadId: child.id } });
  const run = queueRun(context, needThread(context, child.id), {
    content: { text: child.prompt },
    requested: child.provider,
    modes: child.modes,
    createdBy: child.createdBy,
  });
  return { runId: run.runId };
}

type Remote = {
  command: CommandOf<"task.spawn">;
  parent: AppThread;
  remote: EnvironmentId;
  requestId: NonNullable<ReturnType<PlanContext["uow"]["ids"]["next"]>> & string;
  taskId: TaskId;
  depth: number;
  modes: Modes;
  asked: boolean;
};

function askPeer(context: PlanContext, r: Remote): void {
  mayUseLink(context, r.parent, r.remote);
  context.outbox.ask(
    r.remote,
    r.requestId as Parameters<typeof context.outbox.ask>[1],
    {
      kind: "task.spawn",
      taskId: r.taskId,
      title: r.command.title ?? firstLine(r.command.prompt),
      prompt: r.command.prompt,
      handedOver: r.command.handedOver ?? null,
      provider: r.command.provider ?? null,
      modes: r.modes,
      modesAsked: r.asked,
      depth: r.depth,
      parentThreadId: r.parent.id,
      rootThreadId: r.parent.lineage.rootThreadId,
    },
    r.taskId,
  );
}

/** A title for a task that nobody named. */
function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`.toWellFormed();
}
