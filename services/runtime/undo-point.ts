import type { CheckpointId, RunId } from "../../schemas/ids.ts";
import type { Run } from "../../schemas/run.ts";
import type { AppThread, StablePoint } from "../../schemas/thread.ts";
import { refuse } from "./refused.ts";
import { type ActorSource, runsOf } from "./typed-actors.ts";

export type UndoPoint = {
  /** The last run that stays; null: none does. */
  keep: Run | null;
  /** Runs that are taken back, oldest first. */
  taken: Run[];
  /** The last completed run that stays, whose files are the thread's again; null: there is none. */
  stable: StablePoint | null;
};

/** What taking a thread back to a run means: `to` undefined is the run before the last. Refuses what cannot be taken back. */
export function undoPoint(source: ActorSource, thread: AppThread, to: RunId | null | undefined): UndoPoint {
  const runs = runsOf(source, thread.id).filter((run) => run.status !== "rolled_back");
  const at = to === undefined ? runs.length - 2 : to === null ? -1 : runs.findIndex((run) => run.id === to);
  if (to != null && at === -1)
    refuse(
      "run_not_found",
      "unknown_run",
      `${to} is no run of ${thread.id} that stands`,
      "List its runs with: ropewalk run list THREAD. What it inherited is left as it is: fork there instead.",
    );
  const taken = runs.slice(at + 1);
  if (taken.length === 0)
    refuse("invalid_request", "nothing_to_undo", `${thread.id} has no run after that`, "List its runs with: ropewalk run list THREAD");
  const kept = runs.slice(0, at + 1);
  const completed = kept.findLast((run) => run.status === "completed" && run.checkpointId !== null);
  return {
    keep: kept.at(-1) ?? null,
    taken,
    stable:
      completed === undefined
        ? null
        : { runId: completed.id, ordinal: completed.ordinal, checkpointId: completed.checkpointId as CheckpointId },
  };
}
