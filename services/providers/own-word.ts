import type { AttemptId, RunId } from "../../schemas/ids.ts";
import { refusal } from "../../schemas/refusal.ts";

export const outcomeUnknown = refusal(
  "orchestration_error",
  "outcome_unknown",
  "nobody can say whether the provider took this message before it was given up",
  "Send again; what it is told is marked as a possible repeat.",
);
export const stoppedMeanwhile = refusal(
  "orchestration_error",
  "environment_stopped",
  "the environment stopped while the provider worked on this",
  "Send again to go on; the provider knows what it was told.",
);

/** The report that ends an attempt by our own word. */
export function ended(runId: RunId, attemptId: AttemptId, ending: "interrupted") {
  return { type: "run.ended", runId, attemptId, ending, error: null, openFailed: false, turnRef: null } as const;
}
