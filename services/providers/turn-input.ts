import type { AttemptId } from "../../schemas/ids.ts";
import type { Run } from "../../schemas/run.ts";
import { readText } from "../runtime/content.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { TurnInput } from "./contract.ts";

/** Exactly what the provider is given: what it is told, then the message, which a spawned task already is. */
export function turnInput(store: Store, run: Run, attemptId: AttemptId, mayRepeatNote: string): TurnInput {
  const handoffs = store.handoffs(run.plan?.handoffIds ?? []);
  const asMessage = handoffs.find((h) => h.isMessage);
  const item = store.item(run.messageItemId);
  const message = item?.body.kind === "user_message" ? readText(store, item.body.content) : "";
  const context = handoffs.filter((h) => !h.isMessage).map((h) => h.payload);
  if (run.plan?.mayRepeat === true) context.unshift(mayRepeatNote);
  return { attemptId, runId: run.id, context, message: asMessage?.payload ?? message };
}
