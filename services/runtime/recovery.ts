import type { Command } from "../../schemas/command.ts";
import type { EffectKind } from "../../schemas/effect.ts";
import { refusal } from "../../schemas/refusal.ts";
import type { Run } from "../../schemas/run.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { EffectRunner } from "./effect-runner.ts";
import type { Store } from "./ports/store.ts";
import { asRun } from "./typed-actors.ts";

/** States in which a provider of this process would serve the run. */
const served = ["starting", "running", "waiting", "interrupting"];

/**
 * What an earlier process left behind (contract §7), before anything new is taken: runs that nobody serves any more are
 * closed, which gives the queue its turn and a parent its result; `once` effects whose start was committed are settled;
 * what may be repeated is repeated. A run whose start is still to come, or to be settled, is left to that.
 */
export async function recover(store: Store, dispatcher: Dispatcher, effects: EffectRunner): Promise<void> {
  const open = store.openEffects();
  const toCome = new Set(open.flatMap((e) => ("attemptId" in e.request ? [`${e.request.kind} ${e.request.attemptId}`] : [])));
  const isLeft = (kind: EffectKind) => (run: Run) => run.attempt !== null && !toCome.has(`${kind} ${run.attempt.id}`);
  const runs = (statuses: readonly string[]) => store.actorsBy({ kind: "run", statuses }).map(asRun);
  await Promise.all([
    ...runs(served)
      .filter(isLeft("provider.start"))
      .map((run) => dispatcher.report(unserved(run))),
    ...[...runs(["preparing"]).filter(isLeft("run.prepare")), ...runs(["placing"]).filter(isLeft("workspace.make"))].map((run) =>
      dispatcher.report(unprepared(run)),
    ),
  ]);
  await effects.recover(open);
}

function unserved(run: Run): Command {
  const attemptId = (run.attempt as NonNullable<Run["attempt"]>).id;
  const error = refusal("orchestration_error", "environment_stopped", "the environment stopped while this ran", "Send again to go on.");
  return { type: "run.ended", runId: run.id, attemptId, ending: "interrupted", error, openFailed: false, turnRef: run.turnRef };
}

/** Its preparation was set aside, and with it whatever would ever have ended it (case R04). */
function unprepared(run: Run): Command {
  const attemptId = (run.attempt as NonNullable<Run["attempt"]>).id;
  const error = refusal(
    "orchestration_error",
    "preparation_set_aside",
    "preparing this run was given up",
    "Send again; ropewalk doctor says why.",
  );
  return { type: "run.unprepared", runId: run.id, attemptId, error, failed: [] };
}
