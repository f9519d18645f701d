import type { Receipt } from "../../schemas/command.ts";
import type { CommandId } from "../../schemas/ids.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import { StoreFailure } from "./ports/store.ts";

/** What the door itself answers, whatever the command: repeats, conflicts, its own closing, trouble of the store. */
export const repeated = (receipt: Receipt): Receipt => ({ ...receipt, repeated: true });
export const refused = (commandId: CommandId, what: Refusal): Receipt => ({ ok: false, commandId, refusal: what, repeated: false });

export const closing = refusal(
  "orchestration_error",
  "closing",
  "the environment is shutting down",
  "Start it again, then repeat the command.",
);
export const conflict = (id: CommandId) =>
  refusal("idempotency_conflict", "command_differs", `${id} was used for another command`, "Use a fresh id for another command.");
const internal = (error: unknown) =>
  refusal(
    "orchestration_error",
    "internal",
    error instanceof Error ? error.message : String(error),
    "Report it with the output of ropewalk doctor.",
    {
      stack: error instanceof Error ? error.stack : null,
    },
  );

export function storeRefusal(error: unknown): Refusal {
  if (error instanceof StoreFailure) return refusal("orchestration_error", error.reason, error.message, error.hint);
  return internal(error);
}
