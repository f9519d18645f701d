import { z } from "zod";
import { AttemptId, RunId, TransferId } from "../ids.ts";
import { ProviderInstanceId } from "../provider.ts";
import { Refusal } from "../refusal.ts";
import { ContextSourcePoint, ContextTransfer, ContextTransferResolution, TransferInput } from "../transfer.ts";
import { stamp } from "./common.ts";

export const TransferCreated = z.object({ type: z.literal("transfer.created"), input: TransferInput, ...stamp });
export const TransferEvent = z.discriminatedUnion("type", [
  /** It came in a bundle, as it was elsewhere (decision 0111). */
  z.object({ type: z.literal("transfer.imported"), record: ContextTransfer, ...stamp }),
  /** A run works on it from here on; the status stays `pending` (or what it was resolved to before). */
  z.object({ type: z.literal("transfer.claimed"), runId: RunId, attemptId: AttemptId, targetProvider: ProviderInstanceId, ...stamp }),
  /** The run that had claimed it ended before its input was accepted. */
  z.object({ type: z.literal("transfer.released"), runId: RunId, attemptId: AttemptId, ...stamp }),
  z.object({
    type: z.literal("transfer.resolved"),
    runId: RunId,
    attemptId: AttemptId,
    resolution: ContextTransferResolution,
    basePoint: ContextSourcePoint.nullable(),
    sourcePoint: ContextSourcePoint.nullable(),
    ...stamp,
  }),
  z.object({ type: z.literal("transfer.failed"), runId: RunId, attemptId: AttemptId, error: Refusal, ...stamp }),
  z.object({ type: z.literal("transfer.consumed"), runId: RunId, attemptId: AttemptId, ...stamp }),
  /** `by` is the successor; null when what it would tell is already known. */
  z.object({ type: z.literal("transfer.superseded"), by: TransferId.nullable(), ...stamp }),
]);
export type TransferCreated = z.infer<typeof TransferCreated>;
export type TransferEvent = z.infer<typeof TransferEvent>;
