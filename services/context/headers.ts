import type { TaskStatus } from "../../schemas/task.ts";
import type { Difference } from "../runtime/ports/workspaces.ts";

/** The first lines of what a model is told, and the few sentences around it. */

/** Exactly so by contract (§6, Import). */
export const importHeader = "Imported conversation history from before this thread ran here.";

export const forkHeader = "Conversation history up to the point where this conversation was forked from another.";

export const switchHeader = "Conversation history so far. Another assistant answered in it before you.";

export const deltaHeader = "What happened in this conversation that you have not been told of yet.";

/** `title` names the fork, where it has one. */
export function mergeBackHeader(title: string | null): string {
  const fork = title === null ? "A fork of this conversation" : `The fork "${title}" of this conversation`;
  return `${fork} was merged back. This happened there, and you have not been told of it before.`;
}

/** `workspaceRef` names the state of the files that belongs to the checkpoint, `changes` what of it was not committed. */
export function checkpointHeader(workspaceRef: string | null, changes: Difference | null = null): string {
  const files = workspaceRef === null ? "" : ` The files as they were then: git ref ${workspaceRef}.`;
  const head = `Conversation history up to a checkpoint of another conversation, from which this one was started.${files}`;
  return changes === null || changes.files.length === 0 ? head : `${head}\n\n${changesText(changes)}`;
}

const letters = { add: "A", update: "M", delete: "D", rename: "R" } as const;
const maxListed = 200;

/** Which files were changed and not committed, and how. */
function changesText({ files, patch, isCut }: Difference): string {
  const listed = files.slice(0, maxListed).map((f) => `${letters[f.change]} ${f.from === undefined ? "" : `${f.from} -> `}${f.path}`);
  const more = files.length > maxListed ? [`(and ${files.length - maxListed} more)`] : [];
  const told = patch === "" ? [] : [isCut ? "The beginning of the differences:" : "The differences:", patch.trimEnd()];
  return ["Files changed then and not committed:", ...listed, ...more, ...told].join("\n");
}

export const mayRepeatNote = "You may have been given this before. If so, it is the same and nothing new.";

export const handedOverHeader = "Handed over to you for the task below:";
export const taskHeader = "Your task:";

type EndedTask = Extract<TaskStatus, "completed" | "failed" | "cancelled" | "interrupted">;

/** A subagent's result; `reason` where the child said why it did not complete. */
export function resultHeader(title: string, status: EndedTask, hasText: boolean, reason: string | null): string {
  const why = reason === null ? "" : ` Reason: ${reason}`;
  const silent = hasText ? "" : " It gave no text.";
  return `Result of the task "${title}": ${status}.${why}${silent}`;
}
