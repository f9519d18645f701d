import { z } from "zod";

/** Ranked from narrow to broad (contract §8). A caller can only narrow. */
export const RuntimeMode = z.enum(["approval-required", "auto-accept-edits", "auto", "full-access"]);
export const InteractionMode = z.enum(["plan", "default"]);
export type RuntimeMode = z.infer<typeof RuntimeMode>;
export type InteractionMode = z.infer<typeof InteractionMode>;

export const Modes = z.object({ runtimeMode: RuntimeMode, interactionMode: InteractionMode });
export type Modes = z.infer<typeof Modes>;

export const broadestModes: Modes = { runtimeMode: "full-access", interactionMode: "default" };
export const defaultModes: Modes = { runtimeMode: "auto-accept-edits", interactionMode: "default" };

const rank = <T extends string>(order: readonly T[], value: T) => order.indexOf(value);

/** Which of the two modes of `wanted` is broader than `cap` allows, or null when none is. */
export function escalation(wanted: Modes, cap: Modes): "runtime" | "interaction" | null {
  if (rank(RuntimeMode.options, wanted.runtimeMode) > rank(RuntimeMode.options, cap.runtimeMode)) return "runtime";
  if (rank(InteractionMode.options, wanted.interactionMode) > rank(InteractionMode.options, cap.interactionMode)) return "interaction";
  return null;
}

/** The narrower of two, mode by mode. */
export function narrower(a: Modes, b: Modes): Modes {
  return {
    runtimeMode: rank(RuntimeMode.options, a.runtimeMode) <= rank(RuntimeMode.options, b.runtimeMode) ? a.runtimeMode : b.runtimeMode,
    interactionMode:
      rank(InteractionMode.options, a.interactionMode) <= rank(InteractionMode.options, b.interactionMode)
        ? a.interactionMode
        : b.interactionMode,
  };
}
