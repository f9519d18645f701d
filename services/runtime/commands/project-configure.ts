import type { WorktreeSettings } from "../../../schemas/project.ts";
import { mayChangeEnvironment } from "../access.ts";
import type { Plan } from "../plan.ts";
import { refuse } from "../refused.ts";

/** How worktrees of a project are made. A command that runs on this machine is for its own people to say, not for an agent. */
export const configureProject: Plan<"project.configure"> = (command, context) => {
  mayChangeEnvironment(context);
  if (context.caller.kind === "thread")
    refuse("capability_denied", "not_for_agents", "an agent cannot say what runs in new worktrees", "Ask a person to do it.");
  const project = context.overlay.project(command.projectId);
  if (project === null)
    refuse("invalid_request", "unknown_project", `there is no project ${command.projectId}`, "List projects with: ropewalk project list");
  const before = project.worktrees ?? { setup: null, carry: [] };
  const worktrees: WorktreeSettings = {
    setup: command.setup === undefined ? before.setup : command.setup,
    carry: command.carry ?? before.carry,
  };
  context.overlay.putProject({ ...project, worktrees });
  return { projectId: project.id, worktrees };
};
