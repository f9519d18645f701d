import { AccessKind } from "../../schemas/access.ts";
import type { ClientGrant } from "../../schemas/client.ts";
import { InteractionMode, type Modes, narrower, RuntimeMode } from "../../schemas/modes.ts";

/** What a program asks for: kinds of access, and modes at most. Null: whatever it is given. */
export type Wish = { access: AccessKind[] | null; runtimeMode: RuntimeMode | null; interactionMode: InteractionMode | null };

const runtimeScope = (mode: RuntimeMode) => `runtime:${mode}`;
const interactionScope = (mode: InteractionMode) => `interaction:${mode}`;

/** Each word of `scope` that can be asked for: the kinds of access, and the modes. */
export const accessScopes: readonly string[] = AccessKind.options;
export const allScopes: readonly string[] = [
  ...accessScopes,
  ...RuntimeMode.options.map(runtimeScope),
  ...InteractionMode.options.map(interactionScope),
];

/** Reads `scope`; words of others (`offline_access`, `openid`) are passed over. Null when it holds nothing that is known. */
export function parseScope(scope: string | undefined): Wish | null {
  const words = (scope ?? "").split(" ").filter((word) => word !== "");
  const access = AccessKind.options.filter((kind) => words.includes(kind));
  // Of several modes the broadest counts: they are what it can do with, not each of them a bound.
  const runtimeMode = RuntimeMode.options.findLast((mode) => words.includes(runtimeScope(mode))) ?? null;
  const interactionMode = InteractionMode.options.findLast((mode) => words.includes(interactionScope(mode))) ?? null;
  if (words.length > 0 && access.length === 0 && runtimeMode === null && interactionMode === null) return null;
  return { access: access.length === 0 ? null : access, runtimeMode, interactionMode };
}

/** What a code gives, narrowed by what is asked for. No access: nothing of it is given. */
export function narrowedBy(grant: ClientGrant, { access, runtimeMode, interactionMode }: Wish): Omit<ClientGrant, "name"> {
  const wished: Modes = {
    runtimeMode: runtimeMode ?? grant.maxModes.runtimeMode,
    interactionMode: interactionMode ?? grant.maxModes.interactionMode,
  };
  return {
    maxModes: narrower(grant.maxModes, wished),
    access: access === null ? grant.access : grant.access.filter((kind) => access.includes(kind)),
  };
}

/** `scope` of what was given. */
export function scopeOf({ access, maxModes }: Omit<ClientGrant, "name">): string {
  return [...access, runtimeScope(maxModes.runtimeMode), interactionScope(maxModes.interactionMode)].join(" ");
}
