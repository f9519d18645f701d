import type { Command, Receipt } from "../../schemas/command.ts";
import type { EffectId, ThreadId } from "../../schemas/ids.ts";
import { forksThatNeed } from "../runtime/dependents.ts";
import type { EffectHandler } from "../runtime/effect-runner.ts";
import { historyOf } from "../runtime/history.ts";
import type { ContentStore } from "../runtime/ports/content.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { Workspaces } from "../runtime/ports/workspaces.ts";
import { threadFrom } from "../runtime/typed-actors.ts";
import type { InTurn } from "./in-turn.ts";
import type { Alone } from "./store-text.ts";
import { emptyThread } from "./thread-content.ts";

/** Carries out `thread.purge`. May be repeated after a crash, wherever it was. */
export function threadPurge(o: {
  store: Store;
  content: ContentStore;
  workspaces: Pick<Workspaces, "purgeThread">;
  alone: Alone;
  /** Rewrites the store's file for those that were emptied. */
  inTurn: Pick<InTurn, "run">;
  report(command: Command, closes?: readonly EffectId[]): Promise<Receipt>;
  letGoIdle(): Promise<void>;
  onBoundary?: ((name: string) => void) | undefined;
}): EffectHandler<"thread.purge"> {
  return {
    async run({ threadId }, effectId) {
      if (threadFrom(o.store, threadId)?.status !== "deleted") {
        await o.report({ type: "effects.closed", effectIds: [effectId], state: "done", note: "it is not deleted" });
        return;
      }
      const keptUpTo = await o.inTurn.run(async () => {
        await o.letGoIdle();
        const keptUpTo = shownUpTo(o.store, threadId);
        await emptyThread(o.content, o.store, o.alone, threadId, keptUpTo);
        o.onBoundary?.("after step purge.thread_emptied");
        await o.workspaces.purgeThread(threadId, keptUpTo);
        return keptUpTo;
      });
      const receipt = await o.report({ type: "thread.emptied", threadId, keptUpTo: keptUpTo < 0 ? null : keptUpTo }, [effectId]);
      if (!receipt.ok) throw new Error(receipt.refusal.message);
    },
  };
}

/** The last of its runs that a fork shows; -1: none does. */
function shownUpTo(store: Store, threadId: ThreadId): number {
  const shown = forksThatNeed(store, threadId).flatMap((fork) =>
    historyOf(store, fork.id).flatMap((part) => (part.threadId === threadId ? part.toOrdinal : [])),
  );
  return Math.max(-1, ...shown);
}
