import { z } from "zod";
import type { MoveId } from "../../../schemas/ids.ts";
import { ThreadId } from "../../../schemas/ids.ts";
import { MoveChecked } from "../../../schemas/move.ts";
import { refusal } from "../../../schemas/refusal.ts";
import { Text } from "../../../schemas/text.ts";
import type { LinkAnswer } from "../../../schemas/wire.ts";
import type { PlanContext } from "../plan.ts";
import type { OutgoingRequestRow } from "../ports/store.ts";
import { linkFrom, moveFrom } from "../typed-actors.ts";

/** The peer's answers to what a move asked of it. What they do not say is asked again, never guessed. */
export function takeMoveAnswer(context: PlanContext, open: OutgoingRequestRow, answer: LinkAnswer): void {
  const id = open.subject as MoveId;
  switch (open.kind) {
    case "move.preflight":
      takeChecked(context, id, answer);
      return;
    case "thread.move":
      if (answer.ok) accepted(context, id, answer.result);
      // It is known there with other content: that does not say what lives there.
      else if (answer.refusal.reason === "request_differs") context.uow.report({ to: id, event: { type: "move.abort_requested" } });
      else context.uow.report({ to: id, event: { type: "move.refused", error: answer.refusal } });
      return;
    case "move.abort":
      if (!answer.ok) return;
      if (answer.result.outcome === "accepted") accepted(context, id, answer.result);
      else if (answer.result.outcome === "aborted") context.uow.report({ to: id, event: { type: "move.refused", error: takenBack } });
      return;
  }
}

function accepted(context: PlanContext, id: MoveId, result: Record<string, unknown>): void {
  const threadId = ThreadId.safeParse(result.threadId).data ?? moveFrom(context.overlay, id)?.targetThreadId;
  const left = z.array(Text).safeParse(result.left).data ?? [];
  if (threadId !== undefined) context.uow.report({ to: id, event: { type: "move.accepted", threadId, left } });
}

const takenBack = refusal("invalid_request", "cancelled", "the move was taken back", "Move it again whenever you want.");

function takeChecked(context: PlanContext, id: MoveId, answer: LinkAnswer): void {
  const checked = answer.ok ? MoveChecked.safeParse(answer.result).data : undefined;
  if (checked === undefined) {
    const error = answer.ok ? senseless : answer.refusal;
    const lacks = error.reason === "not_understood" ? [{ what: "version" as const, message: error.message, hint: error.hint }] : [];
    context.uow.report({ to: id, event: { type: "move.unfit", lacks, error } });
    return;
  }
  const { lacks } = checked;
  if (lacks.length === 0) {
    context.uow.report({ to: id, event: { type: "move.checked", known: checked.known } });
    return;
  }
  const error = refusal(
    "invalid_request",
    "peer_lacks",
    `${nameOf(context, id)} lacks something: ${lacks.map((lack) => lack.message).join("; ")}`,
    lacks.map((lack) => lack.hint).join(" "),
    { lacks },
  );
  context.uow.report({ to: id, event: { type: "move.unfit", lacks, error } });
}

function nameOf(context: PlanContext, id: MoveId): string {
  const environmentId = moveFrom(context.overlay, id)?.environmentId;
  const link = environmentId === undefined ? null : context.settings.linkTo(environmentId);
  return (link === null ? null : linkFrom(context.overlay, link.id)?.name) ?? "the other environment";
}

const senseless = refusal(
  "orchestration_error",
  "answer_not_understood",
  "the peer's answer does not say whether the thread can move there",
  "Update the older of the two environments, then move it again.",
);
