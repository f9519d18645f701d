import type { CheckpointId, RunId, ThreadId } from "../../schemas/ids.ts";
import type { ContextSourcePoint } from "../../schemas/transfer.ts";

/** A point of a thread of this environment, named by run and ordinal; the rest as far as it is known. */
export function pointAt(at: {
  threadId: ThreadId;
  runId: RunId | null;
  ordinal: number;
  checkpointId?: CheckpointId;
  givenAs?: ContextSourcePoint["givenAs"];
}): ContextSourcePoint {
  return {
    threadId: at.threadId,
    environmentId: null,
    runId: at.runId,
    ordinal: at.ordinal,
    checkpointId: at.checkpointId ?? null,
    turnItemId: null,
    providerThreadRef: null,
    providerTurnRef: null,
    givenAs: at.givenAs ?? null,
  };
}
