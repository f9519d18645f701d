import { basename } from "node:path";
import type { ProjectId, ThreadId } from "../../../schemas/ids.ts";
import type { ProviderChoice } from "../../../schemas/provider.ts";
import type { AppThread, ThreadInput, Workspace, WorkspaceWish } from "../../../schemas/thread.ts";
import { createdBy, modeCap, originOf, settleModes } from "../access.ts";
import { threadOf } from "../folders.ts";
import type { Plan, PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { threadFrom } from "../typed-actors.ts";

export const createThread: Plan<"thread.create"> = (command, context) => {
  if (context.caller.kind === "link")
    refuse("capability_denied", "not_granted", "a link cannot make threads", "Import a thread or spawn a task instead.");
  if (command.provider !== undefined) needProvider(context, command.provider);
  const id = context.uow.ids.next("thread");
  const projectId = settleProject(context, command.projectId);
  context.uow.create(id, {
    type: "thread.created",
    input: {
      ...blankThread(id),
      projectId,
      title: command.title ?? "",
      modes: settleModes(command, context.settings.modes, modeCap(context)),
      preferred: command.provider === undefined ? null : { provider: command.provider, afterOrdinal: 0 },
      workspace: settleWorkspace(context, projectId, command.workspace ?? { strategy: "root" }),
      linkOrigin: originOf(context, null),
      createdBy: createdBy(context.caller),
    },
  });
  return { threadId: id };
};

/** A thread of its own root, without history; each way of making one says what is different. */
export function blankThread(id: ThreadId): Omit<ThreadInput, "projectId" | "modes" | "createdBy"> {
  return {
    id,
    title: "",
    lineage: { parentThreadId: null, parentEnvironmentId: null, relationshipToParent: null, rootThreadId: id },
    inherited: null,
    historyOrigin: "native",
    preferred: null,
    workspace: { strategy: "root" },
    linkOrigin: null,
    task: null,
    depth: 0,
    latestStable: null,
  };
}

/** The project that was named, or the environment's own scratch folder for threads that belong to none. */
export function settleProject(context: PlanContext, wanted: ProjectId | undefined): ProjectId {
  if (wanted === undefined) return context.scratch.projectId;
  if (context.overlay.project(wanted) === null)
    refuse("invalid_request", "unknown_project", `there is no project ${wanted}`, "List projects with: ropewalk project list");
  return wanted;
}

/** A worktree that somebody names must be one of the project's, by real path (contract §6, Import). */
export function settleWorkspace(context: PlanContext, projectId: ProjectId, wanted: WorkspaceWish): Workspace {
  if (wanted.strategy === "root") return wanted;
  if (wanted.strategy === "worktree") return { strategy: "worktree", path: null };
  const project = context.overlay.project(projectId);
  const wantedFacts = context.facts.get(wanted.path);
  const projectFacts = project === null ? null : context.facts.get(project.path);
  if (wantedFacts == null || projectFacts == null || !projectFacts.worktrees.includes(wantedFacts.real))
    refuse(
      "invalid_request",
      "not_a_worktree",
      `${wanted.path} is not a worktree of the project`,
      projectFacts == null ? "Name the project it belongs to." : `Its worktrees are: ${projectFacts.worktrees.join(", ")}`,
    );
  const holder = holderOf(context, wantedFacts.real);
  if (holder !== null)
    refuse(
      "invalid_request",
      "worktree_taken",
      `${wantedFacts.real} was made for ${holder.id}`,
      "It goes with that thread: send to it, or fork it.",
      { threadId: holder.id },
    );
  return { strategy: "existing", path: wantedFacts.real };
}

/** The thread for which a worktree was made; it is called after it. One that a person made may be shared, at their word. */
function holderOf(context: PlanContext, path: string): AppThread | null {
  const thread = threadFrom(context.overlay, threadOf(basename(path)));
  return thread?.workspace.strategy === "worktree" && thread.workspace.path === path && thread.status !== "deleted" ? thread : null;
}

/**
 * Where a fork or a child of a thread works: in a worktree of its own, where its project is a repository, which its first
 * run finds out (decision 0108). Threads of no project share the environment's scratch folder.
 */
export function ownWorkspace(context: PlanContext, source: Pick<AppThread, "projectId">): Workspace {
  return source.projectId === context.scratch.projectId ? { strategy: "root" } : { strategy: "worktree", path: null };
}

/**
 * Where a fork or a child works when somebody says so. What the person's folder holds is never touched by one unless the
 * person wants it (decision 38), so an agent or a peer gets a worktree of its own and nothing else.
 */
export function chosenWorkspace(context: PlanContext, source: Pick<AppThread, "projectId">, wanted: WorkspaceWish | undefined): Workspace {
  if (wanted === undefined || wanted.strategy === "worktree") return ownWorkspace(context, source);
  const { kind } = context.caller;
  if (kind !== "user" && kind !== "client")
    refuse(
      "capability_denied",
      "workspace_not_yours",
      "only a person can choose a folder for a fork or a subagent",
      "Leave the workspace out: it gets a worktree of its own.",
    );
  return settleWorkspace(context, source.projectId, wanted);
}

/** An instance that is not configured is a slip of the pen: told at once, before anything is written. */
export function needProvider(context: PlanContext, choice: ProviderChoice): void {
  if (context.settings.hasProvider(choice.instance)) return;
  const known = context.settings.providerNames;
  refuse(
    "provider_unavailable",
    "unknown_instance",
    `there is no provider instance "${choice.instance}"`,
    known.length > 0 ? `Configured here: ${known.join(", ")}.` : "Configure one in config.json.",
  );
}
