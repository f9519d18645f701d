import type { Command, Receipt } from "../../schemas/command.ts";
import type { EffectId, ThreadId } from "../../schemas/ids.ts";
import type { Move } from "../../schemas/move.ts";
import { refusal } from "../../schemas/refusal.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { EffectHandler } from "./effect-runner.ts";
import type { MovingCode, PackedCode } from "./ports/moving-code.ts";
import type { Store } from "./ports/store.ts";
import { busyWith } from "./quiet.ts";
import { moveFrom, threadFrom } from "./typed-actors.ts";

export type ProceedOptions = {
  store: Store;
  /** Lets go of a thread's native conversation; false: its provider would not. */
  letGo(threadId: ThreadId): Promise<boolean>;
  report(command: Command, closes?: readonly EffectId[]): Promise<Receipt>;
  code: MovingCode;
};

/** How often a departure is prepared before it is given up for want of a quiet moment. */
const maxLooks = 5;

/**
 * Carries out `move.proceed`: once the thread is quiet its native conversation is let go of, and it departs. Everything is
 * looked at again by the plan that decides; may be repeated.
 */
export function moveProceeding(o: ProceedOptions): EffectHandler<"move.proceed"> {
  return {
    async run({ moveId }, effectId) {
      for (let looks = 1; looks <= maxLooks; looks += 1) {
        const move = moveFrom(o.store, moveId);
        const thread = move === null ? null : threadFrom(o.store, move.threadId);
        const isQuiet = move?.status === "pending" && thread?.moving === moveId && busyWith(o.store, thread) === null;
        if (isQuiet && !(await o.letGo(thread.id))) {
          await settled(o.report({ type: "move.unfit", moveId, error: heldByProvider }, [effectId]));
          return;
        }
        const packed = isQuiet ? await codeOf(o, move, thread) : null;
        if (packed?.ok === false) {
          await settled(o.report({ type: "move.unfit", moveId, error: packed.refusal }, [effectId]));
          return;
        }
        const code = packed?.code ?? null;
        const receipt = await settled(o.report({ type: "move.depart", moveId, atOrdinal: thread?.lastOrdinal ?? 0, code }));
        if (receipt.outcome === "changed") continue;
        await settled(o.report({ type: "effects.closed", effectIds: [effectId], state: "done", note: "" }));
        return;
      }
      throw new Error("the thread did not come to rest");
    },
  };
}

/** The thread's code; null where it has none, or the conversation moves alone. */
async function codeOf({ store, code }: ProceedOptions, move: Move, thread: AppThread): Promise<PackedCode | null> {
  const repository = store.project(thread.projectId)?.repository ?? null;
  return move.withoutCode || repository === null ? null : code.pack(thread.id, move.id, move.known ?? []);
}

async function settled(answer: Promise<Receipt>): Promise<Record<string, unknown>> {
  const receipt = await answer;
  if (!receipt.ok) throw new Error(receipt.refusal.message);
  return receipt.result;
}

const heldByProvider = refusal(
  "provider_unavailable",
  "detach_failed",
  "the agent did not let go of the conversation",
  "Restart this environment, then move it again.",
);

/** Carries out `move.settle`; says in the effect's note what was left because somebody had changed it since. */
export function moveSettling(code: MovingCode, report: ProceedOptions["report"]): EffectHandler<"move.settle"> {
  return {
    async run(request, effectId) {
      const note = await code.settle(request);
      await settled(report({ type: "effects.closed", effectIds: [effectId], state: "done", note }));
    },
  };
}
