import type { AccessKind } from "../../../schemas/access.ts";
import type { InteractionMode, RuntimeMode } from "../../../schemas/modes.ts";

/** What is given, for a person who decides about it. */
export const accessWords: Readonly<Record<AccessKind, string>> = {
  reads: "read every thread, what its agents did, and what was handed over",
  writes: "stop agents, and rename, archive or delete threads",
  writes_threads: "send messages, and answer for you, in threads that are there",
  starts_threads: "start new threads: launch, fork, import, delegate",
  writes_environment: "change the environment itself: add folders as projects",
};

export const runtimeWords: Readonly<Record<RuntimeMode, string>> = {
  "approval-required": "its agents ask before they do anything",
  "auto-accept-edits": "its agents may edit files, and ask before the rest",
  auto: "its agents may do what is usual without asking",
  "full-access": "its agents may do everything on this machine without asking",
};

export const interactionWords: Readonly<Record<InteractionMode, string>> = {
  plan: "its agents only plan",
  default: "its agents do the work",
};
