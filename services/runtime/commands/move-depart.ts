import type { Move } from "../../../schemas/move.ts";
import { refusal } from "../../../schemas/refusal.ts";
import type { Plan, PlanContext } from "../plan.ts";
import { busyWith } from "../quiet.ts";
import { moveFrom, threadFrom } from "../typed-actors.ts";
import { offerOf } from "./move-offer.ts";

/**
 * The thread departs: from this commit on it takes no turns here until the peer has answered. What is looked at is looked
 * at here, whatever was seen before; `changed`: something ran since then.
 */
export const departMove: Plan<"move.depart"> = (command, context) => {
  const move = moveFrom(context.overlay, command.moveId);
  const thread = move === null ? null : threadFrom(context.overlay, move.threadId);
  if (move?.status !== "pending" || thread?.moving !== move.id) return { outcome: "over" };
  const waitsFor = busyWith(context.overlay, thread);
  if (waitsFor !== null) {
    context.uow.tell({ to: move.id, event: { type: "move.held", waitsFor } });
    // Nothing is gained by keeping the next message waiting, too.
    if (waitsFor === "children") context.uow.tell({ to: thread.id, event: { type: "thread.queue_resumed" } });
    return { outcome: "waits" };
  }
  if (thread.lastOrdinal !== command.atOrdinal) return { outcome: "changed" };
  if (!context.outbox.reaches(move.environmentId)) return unfit(context, move, noLink(move));
  const { offer, carried } = offerOf(context, move, thread);
  const left = (command.code?.leftOut ?? []).map(({ path, reason }) => `${path} stays here (${reason.replaceAll("_", " ")})`);
  const bytes = Buffer.byteLength(JSON.stringify(offer));
  const limit = context.settings.importRequestBytes;
  if (bytes > limit)
    return unfit(
      context,
      move,
      refusal(
        "invalid_request",
        "limit_exceeded",
        `the conversation has ${bytes} bytes, a move (importRequestBytes) takes ${limit}`,
        "Raise limits.importRequestBytes on both sides, or fork it at an earlier run and move the fork.",
      ),
    );
  const offerId = context.uow.ids.next("req");
  context.outbox.ask(move.environmentId, offerId, { kind: "thread.move", offer: { ...offer, code: command.code } }, move.id);
  context.uow.tell({ to: move.id, event: { type: "move.departing", offerId, carried, left } });
  return { outcome: "departing" };
};

/** The move cannot be made; the thread stays. */
export const moveUnfit: Plan<"move.unfit"> = (command, context) => {
  const move = moveFrom(context.overlay, command.moveId);
  return move?.status === "pending" ? unfit(context, move, command.error) : { outcome: "over" };
};

function unfit(context: PlanContext, move: Move, error: ReturnType<typeof refusal>): { outcome: "unfit" } {
  context.uow.tell({ to: move.id, event: { type: "move.unfit", lacks: [], error } });
  return { outcome: "unfit" };
}

const noLink = (move: Move) =>
  refusal(
    "capability_denied",
    "no_link",
    `there is no link to ${move.environmentId} any more`,
    "Link the two environments again, then move it again.",
  );
