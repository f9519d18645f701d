import type { ProviderThreadId, ThreadId } from "../../schemas/ids.ts";
import type { OpenPlan, RewindPlan } from "../../schemas/run.ts";
import type { Store } from "../runtime/ports/store.ts";
import { runsOf } from "../runtime/typed-actors.ts";
import type { OpenConversation, Rewind } from "./contract.ts";

/** A run's plan in the adapters' words: native refs, and nothing of ours but the ids of attempts. */
export function howToOpen(store: Store, threadId: ThreadId, open: OpenPlan): OpenConversation {
  switch (open.kind) {
    case "new":
      return { kind: "new" };
    case "resume": {
      const { nativeRef, rewind } = open;
      return {
        kind: "resume",
        nativeRef,
        ...(rewind !== undefined && { rewind: rewindOf(store, threadId, open.providerThreadId, rewind) }),
      };
    }
    case "fork":
      return { kind: "fork", nativeRef: open.nativeRef, turnRef: open.turnRef };
  }
}

/**
 * What of the later runs may be in it: all that were taken back, and inputs of which nobody knows whether it took them, the
 * present one among them, when it was given before. A native ref counts within its own conversation only.
 */
function rewindOf(store: Store, threadId: ThreadId, native: ProviderThreadId, { keep, afterOrdinal }: RewindPlan): Rewind {
  const drop = runsOf(store, threadId, { min: afterOrdinal + 1 })
    .filter((run) => run.status === "rolled_back" || run.acceptedAt === null)
    .map((run) => ({ turnRef: run.providerThreadId === native ? run.turnRef : null, attemptId: run.attempt?.id ?? null }));
  return { keep, drop };
}
