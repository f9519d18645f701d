import type { Modes } from "../../../schemas/modes.ts";
import type { AgentOptions, PermissionRequest } from "./protocol.ts";

/**
 * Our modes in Claude's words. Full access is Claude's ordinary mode in which every question is answered with yes here: its
 * own way of skipping them cannot be used by root, and would skip questions to the person too. `auto` lets Claude's classifier
 * decide, which asks a person where it cannot. In plan mode nothing is written.
 */
export function permissionModeOf({ runtimeMode, interactionMode }: Modes): AgentOptions["permissionMode"] {
  if (interactionMode === "plan") return "plan";
  if (runtimeMode === "auto-accept-edits") return "acceptEdits";
  return runtimeMode === "auto" ? "auto" : "default";
}

/** What is answered without a person: everything with full access, nothing but questions in plan mode. */
export function standingAnswer({ runtimeMode, interactionMode }: Modes, request: PermissionRequest): "allow" | "deny" | "ask" {
  if (request.tool === "AskUserQuestion") return "ask";
  if (interactionMode === "plan") return "deny";
  return runtimeMode === "full-access" && request.ruleAsks !== true ? "allow" : "ask";
}

/** Told to the model where plan mode denies something. */
export function planModeWords(request: PermissionRequest): string {
  return request.tool === "ExitPlanMode"
    ? "The plan was written down for the person, who will say when and how to go on. Nothing may be carried out now: end your turn."
    : "This conversation is in plan mode: nothing may be written or run. Go on planning.";
}
