import type { Plan } from "../plan.ts";

/** The start of `once` effects is committed before they are carried out. */
export const effectsStarted: Plan<"effects.started"> = (command, context) => {
  for (const id of command.effectIds) context.overlay.setEffectState(id, "started", "");
  return {};
};

export const effectsClosed: Plan<"effects.closed"> = (command, context) => {
  for (const id of command.effectIds) context.overlay.setEffectState(id, command.state, command.note);
  return {};
};
