import { type Command, Option } from "commander";
import type { Grant, GrantKind } from "../../schemas/link.ts";
import type { Modes } from "../../schemas/modes.ts";
import { badInput } from "./failure.ts";
import { type ModeOptions, modesOf, withModeOptions } from "./modes.ts";

export type GrantOptions = ModeOptions & { grant?: GrantKind[]; maxOpen?: number; maxDepth?: number };

// Spelled out here, since the schemas are a third of what a command would load.
const kinds: Readonly<Record<GrantKind, true>> = { threadImport: true, spawn: true, read: true, move: true };
const usual: readonly GrantKind[] = ["threadImport", "spawn"];
const usualModes: Modes = { runtimeMode: "auto-accept-edits", interactionMode: "default" };

/** What the other environment may do here, and the broadest modes that it may use for it. */
export function withGrantOptions(command: Command): Command {
  const named = Object.keys(kinds).join(", ");
  const grant = new Option(
    "--grant <kinds>",
    `what the other side may do here, with commas: ${named}, or none (${usual.join(", ")})`,
  ).argParser(grantKinds);
  const open = new Option("--max-open <count>", "how many threads it may have at work here at one time (any number)").argParser(budget);
  const depth = new Option("--max-depth <count>", "how deep its subagents may be nested here (as deep as any)").argParser(budget);
  return withModeOptions(command.addOption(grant)).addOption(open).addOption(depth);
}

/** The grants that were typed; what was not is as usual. */
export function grantsOf(options: GrantOptions): Grant[] {
  const { maxOpen, maxDepth } = options;
  const bounds = { ...(maxOpen !== undefined && { maxOpen }), ...(maxDepth !== undefined && { maxDepth }) };
  const maxModes = { ...usualModes, ...modesOf(options) };
  return (options.grant ?? usual).map((kind) => (kind === "read" ? { kind } : { kind, maxModes, ...bounds }));
}

export const grantWords = (grants: readonly Grant[]): string =>
  grants.length === 0
    ? "nothing"
    : grants.map((grant) => ("maxModes" in grant ? `${grant.kind} (${modes(grant)})` : grant.kind)).join(", ");

function modes({ maxModes, maxOpen, maxDepth }: Extract<Grant, { maxModes: Modes }>): string {
  const bounds = [maxOpen === undefined ? [] : [`${maxOpen} at work`], maxDepth === undefined ? [] : [`${maxDepth} deep`]].flat();
  return ["at most", [maxModes.runtimeMode, maxModes.interactionMode, ...bounds].join(", ")].join(" ");
}

function budget(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw badInput("budget", `"${text}" is no number from 1 on`, "Leave the option out for no bound.");
}

function grantKinds(text: string): GrantKind[] {
  if (text.trim() === "none") return [];
  const named = text.split(",").map((kind) => kind.trim());
  const wrong = named.find((kind) => !(kind in kinds));
  if (wrong === undefined) return [...new Set(named)] as GrantKind[];
  throw badInput("grant_kind", `"${text}" names a grant that there is not`, `There are: ${Object.keys(kinds).join(", ")}, and none.`);
}
