import { refusal } from "../../schemas/refusal.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { EffectRunner } from "./effect-runner.ts";
import type { Store } from "./ports/store.ts";
import { asRun } from "./typed-actors.ts";

/** States in which a provider of this process would serve the run. */
const served = ["starting", "running", "waiting", "interrupting"];

/**
 * What an earlier process left behind (contract §7), before anything new is taken: `once` effects whose start was committed
 * are settled; runs that nobody serves any more are closed as interrupted, which gives the queue its turn and a parent its
 * result; what may be repeated is repeated.
 */
export async function recover(store: Store, dispatcher: Dispatcher, effects: EffectRunner): Promise<void> {
  const open = store.openEffects();
  const startsToCome = new Set(
    open.filter((e) => e.request.kind === "provider.start").map((e) => ("attemptId" in e.request ? e.request.attemptId : "")),
  );
  await effects.recover(open.filter((e) => e.state === "started"));
  const stopped = refusal("orchestration_error", "environment_stopped", "the environment stopped while this ran", "Send again to go on.");
  const orphans = store
    .actorsBy({ kind: "run", statuses: served })
    .map(asRun)
    .filter((run) => run.attempt !== null && !(run.status === "starting" && startsToCome.has(run.attempt.id)));
  await Promise.all(
    orphans.map((run) =>
      dispatcher.report({
        type: "run.ended",
        runId: run.id,
        attemptId: (run.attempt as NonNullable<typeof run.attempt>).id,
        ending: "interrupted",
        error: stopped,
        openFailed: false,
        turnRef: run.turnRef,
      }),
    ),
  );
  await effects.recover(open.filter((e) => e.state === "pending"));
}
