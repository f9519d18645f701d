import { type Command, Option } from "commander";
import { InteractionMode, RuntimeMode } from "../../schemas/modes.ts";

export type ModeOptions = { runtimeMode?: RuntimeMode; interactionMode?: InteractionMode };

/** Adds the two modes (contract §8). */
export function withModeOptions(command: Command): Command {
  return command
    .addOption(new Option("--runtime-mode <mode>", "what it may do without asking").choices(RuntimeMode.options))
    .addOption(new Option("--interaction-mode <mode>", "whether it only plans").choices(InteractionMode.options));
}

/** The modes that were asked for, as commands have them. */
export function modesOf({ runtimeMode, interactionMode }: ModeOptions): ModeOptions {
  return { ...(runtimeMode !== undefined && { runtimeMode }), ...(interactionMode !== undefined && { interactionMode }) };
}
