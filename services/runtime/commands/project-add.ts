import { basename } from "node:path";
import { mayChangeEnvironment } from "../access.ts";
import type { Plan } from "../plan.ts";
import { refuse } from "../refused.ts";

/** Registers a folder. The same folder, or another worktree of a known repository, is the project that is there already. */
export const addProject: Plan<"project.add"> = (command, context) => {
  mayChangeEnvironment(context);
  const facts = context.facts.get(command.path);
  if (facts == null) refuse("invalid_request", "no_such_folder", `${command.path} is not a folder`, "Name an existing folder.");
  const known = context.overlay
    .projects()
    .find((p) => p.path === facts.path || (p.repository !== null && facts.worktrees.includes(p.path)));
  if (known !== undefined) return { projectId: known.id, created: false };
  const id = context.uow.ids.next("project");
  context.overlay.putProject({
    id,
    name: command.name ?? (basename(facts.path) || facts.path),
    path: facts.path,
    repository: facts.repository,
    createdAt: context.uow.now,
  });
  return { projectId: id, created: true };
};
