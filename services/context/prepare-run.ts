import type { Command, Receipt } from "../../schemas/command.ts";
import type { AttemptId, EffectId, RunId, TransferId } from "../../schemas/ids.ts";
import type { Refusal } from "../../schemas/refusal.ts";
import type { Run } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { EffectHandler } from "../runtime/effect-runner.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { Workspaces } from "../runtime/ports/workspaces.ts";
import { runFrom, threadFrom } from "../runtime/typed-actors.ts";
import { artefactNow, buildArtefact, buildingFailed, preparingFailed } from "./artefacts.ts";
import type { WorkedOn } from "./outcomes.ts";
import { type DecideOptions, decideStart, type StartDecision, Telling } from "./start-decision.ts";
import type { TokenCounter } from "./tokens.ts";

export type PrepareOptions = DecideOptions & {
  store: Store;
  counter: TokenCounter;
  uncommittedAt: Workspaces["uncommittedAt"];
  report(command: Command, closes?: readonly EffectId[]): Promise<Receipt>;
};

/** `changed`: what it was decided on was different a moment later, and it is to be decided again. */
type Outcome = { is: "done" } | { is: "changed"; refusal: Refusal } | { is: "failed"; refusal: Refusal; failed: TransferId[] };
const done = { is: "done" } as const;

/** How often a start is decided before the run fails for want of a quiet moment. */
const maxDecisions = 5;

/**
 * Carries out `run.prepare`: asks the start hook, claims, builds what is to be told, and says how the provider is to be
 * started. Repeatable: after a crash it finds what it had claimed and goes on. Whatever goes wrong ends the run, with the
 * reason (case H06). Most runs need nothing retold: they are prepared at once, in the commit that gave them their turn.
 */
export function prepareRun(o: PrepareOptions): EffectHandler<"run.prepare"> {
  return {
    async run({ runId, attemptId }, effectId) {
      for (let decisions = 1; ; decisions += 1) {
        const outcome = await prepare(o, runId, attemptId, effectId).catch(failedBy);
        if (outcome.is === "done") return;
        if (outcome.is === "changed" && decisions < maxDecisions) continue;
        const failed = outcome.is === "failed" ? outcome.failed : [];
        const receipt = await o.report({ type: "run.unprepared", runId, attemptId, error: outcome.refusal, failed }, [effectId]);
        if (!receipt.ok) throw new Error(receipt.refusal.message);
        return;
      }
    },
    now: ({ runId, attemptId }, decided) => prepareNow(o, decided, runId, attemptId),
  };
}

const failedBy = (error: unknown): Outcome => ({ is: "failed", refusal: preparingFailed(error), failed: [] });

/** The run and its thread while the named attempt is still to be prepared. */
function toPrepare(store: Store, runId: RunId, attemptId: AttemptId): { run: Run; thread: AppThread } | null {
  const run = runFrom(store, runId);
  const thread = run === null ? null : threadFrom(store, run.threadId);
  return run === null || thread === null || run.status !== "preparing" || run.attempt?.id !== attemptId ? null : { run, thread };
}

async function prepare(o: PrepareOptions, runId: RunId, attemptId: AttemptId, effectId: EffectId): Promise<Outcome> {
  const found = toPrepare(o.store, runId, attemptId);
  if (found === null) {
    await o.report({ type: "effects.closed", effectIds: [effectId], state: "done", note: "the run went on without it" });
    return done;
  }
  const decision = decideStart(o, o.store, found.thread, found.run, attemptId);
  if (!decision.ok) return { is: "failed", refusal: decision.refusal, failed: decision.failed };
  if (decision.claim !== null) {
    const claimed = await o.report(decision.claim);
    if (!claimed.ok) return { is: "changed", refusal: claimed.refusal };
  }
  const telling = new Telling(o, decision);
  for (const outcome of decision.worked) {
    if (telling.takes(outcome)) continue;
    const failure = await tell(o, decision, telling, outcome.transfer);
    if (failure !== null) return { is: "failed", refusal: failure, failed: [outcome.transfer.id] };
  }
  const prepared = await o.report(telling.prepared(o.store), [effectId]);
  return prepared.ok ? done : { is: "failed", refusal: prepared.refusal, failed: [] };
}

async function tell(o: PrepareOptions, decision: StartDecision, telling: Telling, transfer: WorkedOn): Promise<Refusal | null> {
  try {
    const { built, ...points } = await buildArtefact(
      { store: o.store, counter: o.counter, uncommittedAt: o.uncommittedAt, ...decision },
      transfer,
    );
    if (!built.ok) return built.refusal;
    telling.add(transfer.id, { built, ...points });
    return null;
  } catch (error) {
    return buildingFailed(error);
  }
}

/** What tells more than this is prepared apart: nobody else gets a turn while a commit is decided. */
const atOnce = 100;

function prepareNow(o: PrepareOptions, decided: Store, runId: RunId, attemptId: AttemptId): Command[] | null {
  const found = toPrepare(decided, runId, attemptId);
  const decision = found === null ? null : decideStart(o, decided, found.thread, found.run, attemptId);
  if (decision?.ok !== true || decision.worked.length > atOnce) return null;
  const telling = new Telling(o, decision);
  for (const outcome of decision.worked) {
    if (telling.takes(outcome)) continue;
    const built = artefactNow({ store: decided, ...decision }, outcome.transfer);
    if (built?.ok !== true) return null;
    telling.add(outcome.transfer.id, { built, basePoint: null, sourcePoint: null });
  }
  const prepared = telling.prepared(decided);
  return decision.claim === null ? [prepared] : [decision.claim, prepared];
}
