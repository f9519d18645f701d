import { type Command, Option } from "commander";
import type { InteractionMode, RuntimeMode } from "../../schemas/modes.ts";

export type ModeOptions = { runtimeMode?: RuntimeMode; interactionMode?: InteractionMode };

// Spelled out here, since the schemas are a third of what a command would load.
const runtimeModes: readonly RuntimeMode[] = ["approval-required", "auto-accept-edits", "auto", "full-access"];
const interactionModes: readonly InteractionMode[] = ["plan", "default"];

/** Adds the two modes (contract §8). */
export function withModeOptions(command: Command): Command {
  return command
    .addOption(new Option("--runtime-mode <mode>", "what it may do without asking").choices(runtimeModes))
    .addOption(new Option("--interaction-mode <mode>", "whether it only plans").choices(interactionModes));
}

/** The modes that were asked for, as commands have them. */
export function modesOf({ runtimeMode, interactionMode }: ModeOptions): ModeOptions {
  return { ...(runtimeMode !== undefined && { runtimeMode }), ...(interactionMode !== undefined && { interactionMode }) };
}
