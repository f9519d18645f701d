import { z } from "zod";
import { AttemptId, CheckpointId, ItemId, ProviderThreadId, TransferId } from "../ids.ts";
import { Content } from "../item.ts";
import { NativeRef, ProviderChoice } from "../provider.ts";
import { Refusal } from "../refusal.ts";
import { OpenRequest, Run, RunEnding, RunInput, StartPlan } from "../run.ts";
import { Text } from "../text.ts";
import { stamp } from "./common.ts";

export const RunCreated = z.object({ type: z.literal("run.created"), input: RunInput, ...stamp });
export const RunEvent = z.discriminatedUnion("type", [
  /** It came in a bundle, as it had ended elsewhere (decision 0111). */
  z.object({ type: z.literal("run.imported"), record: Run, ...stamp }),
  /** Its turn has come: the thread made it the active run. */
  z.object({ type: z.literal("run.dispatched"), ...stamp }),
  /** `resolveStartContext` knows which provider and which transfers it works on. */
  z.object({
    type: z.literal("run.claimed"),
    attemptId: AttemptId,
    provider: ProviderChoice,
    transferIds: z.array(TransferId),
    ...stamp,
  }),
  /** `place`: the folder that its thread works in is still to be made. */
  z.object({ type: z.literal("run.prepared"), attemptId: AttemptId, plan: StartPlan, place: z.boolean().optional(), ...stamp }),
  z.object({ type: z.literal("run.placed"), attemptId: AttemptId, ...stamp }),
  /** An explicit failure before any provider work. `failed` names the transfers that it is the fault of. */
  z.object({ type: z.literal("run.unprepared"), attemptId: AttemptId, error: Refusal, failed: z.array(TransferId), ...stamp }),
  z.object({
    type: z.literal("run.accepted"),
    attemptId: AttemptId,
    providerThreadId: ProviderThreadId,
    turnRef: NativeRef.nullable(),
    ...stamp,
  }),
  z.object({ type: z.literal("run.request_opened"), attemptId: AttemptId, request: OpenRequest, ...stamp }),
  z.object({ type: z.literal("run.request_answered"), requestId: Text, answer: Text, ...stamp }),
  /** The provider withdrew it, or nobody can answer it any more. */
  z.object({ type: z.literal("run.request_closed"), requestId: Text, ...stamp }),
  z.object({ type: z.literal("run.interrupt_requested"), reason: Text, ...stamp }),
  z.object({
    type: z.literal("run.ended"),
    attemptId: AttemptId,
    ending: RunEnding,
    error: Refusal.nullable(),
    checkpointId: CheckpointId.nullable(),
    turnRef: NativeRef.nullable(),
    resultItemId: ItemId.nullable(),
    result: Content.nullable(),
    /** Transfers that it is the fault of, when the input was never accepted. */
    failed: z.array(TransferId),
    ...stamp,
  }),
  z.object({ type: z.literal("run.rolled_back"), ...stamp }),
  /** The rollback was taken back. */
  z.object({ type: z.literal("run.restored"), ...stamp }),
]);
export type RunCreated = z.infer<typeof RunCreated>;
export type RunEvent = z.infer<typeof RunEvent>;
