import type { Caller } from "../../../schemas/command.ts";
import type { LinkId } from "../../../schemas/ids.ts";
import { type Refusal, refusal } from "../../../schemas/refusal.ts";
import type { LinkAnswer, LinkBody } from "../../../schemas/wire.ts";
import { payloadDigest } from "../digest.ts";
import { nextLinkDigest } from "../link-digest.ts";
import { newLinkRow } from "../outbox.ts";
import type { CommandOf, Plan, PlanContext } from "../plan.ts";
import { digestOrigin } from "../ports/link-ledger.ts";
import { StoreFailure } from "../ports/store.ts";
import { Refused } from "../refused.ts";
import { linkFrom } from "../typed-actors.ts";
import { takeAnswer, takeNotice } from "./link-news.ts";
import { answerLinkRequest } from "./link-requests.ts";
import { buryOffer } from "./move-arrive.ts";

/**
 * Applies one message of a peer: n + 1 only after n, in the commit that moves the cursor (links.md, invariant 1). A
 * request is decided once, for ever, and answered in the same commit (invariant 6).
 */
export const receiveOverLink: Plan<"link.receive"> = (command, context) => {
  const link = linkFrom(context.overlay, command.linkId);
  const config = context.settings.link(command.linkId);
  if (link === null || config === null || link.status === "revoked")
    return { outcome: "waiting", reason: "the link is not configured (any more)" };
  if (link.status === "diverged") return { outcome: "waiting", reason: "the link is diverged" };
  const row = context.overlay.link(command.linkId) ?? newLinkRow(command.linkId, context.overlay.store.incarnation);
  if (row.formerIncarnations.includes(command.incarnation)) return { outcome: "waiting", reason: "an earlier incarnation of the peer" };

  if (row.peerIncarnation !== null && row.peerIncarnation !== command.incarnation)
    return { outcome: "waiting", reason: "a new incarnation of the peer: its positions are needed first" };

  const at = row.received?.epoch === command.epoch ? row.received : null;
  if (row.received !== null && command.epoch < row.received.epoch) return { outcome: "old", received: row.received };
  const next = (at?.number ?? 0) + 1;
  if (command.number < next && at !== null) return { outcome: "old", received: at };
  if (command.number > next) return { outcome: "gap", received: row.received };

  const digest = nextLinkDigest(at?.digest ?? digestOrigin, command.digest);
  const received = { epoch: command.epoch, number: command.number, digest };
  context.overlay.putLink({ ...row, received, peerIncarnation: command.incarnation });
  const peer: Extract<Caller, { kind: "link" }> = { kind: "link", linkId: link.id, environmentId: config.peer.environmentId };
  apply(command, { ...context, caller: peer }, peer);
  return { outcome: "applied", received };
};

function apply(command: CommandOf<"link.receive">, context: PlanContext, peer: Extract<Caller, { kind: "link" }>): void {
  const { body } = command;
  if (body === null) {
    keep(context, command, "it could not be read: an unknown kind or a newer version");
    if (command.requestId !== null)
      answer(context, peer, command.requestId, payloadDigest(command.raw), () => ({
        ok: false,
        refusal: refusal(
          "invalid_request",
          "not_understood",
          "the request is of a kind that this version does not know",
          "Update the other environment, then ask again.",
        ),
      }));
    return;
  }
  switch (body.type) {
    case "request":
      answer(
        context,
        peer,
        body.requestId,
        payloadDigest(body.request),
        () => answerLinkRequest(context, body.request),
        refusedFor(context, body),
      );
      return;
    case "answer":
      tolerate(context, command, () => takeAnswer(context, body));
      return;
    case "notice":
      tolerate(context, command, () => takeNotice(context, peer, body.notice));
      return;
  }
}

/** What a refusal leaves behind: of a thread that was offered, that it never comes to live here. */
function refusedFor(context: PlanContext, { request }: Extract<LinkBody, { type: "request" }>): () => void {
  return () => {
    if (request.kind === "thread.move") buryOffer(context, request.offer);
  };
}

/** One request, one decision: a repeat gets the same answer, another payload a conflict. */
function answer(
  context: PlanContext,
  peer: Extract<Caller, { kind: "link" }>,
  requestId: Extract<LinkBody, { type: "request" }>["requestId"],
  digest: string,
  decide: () => LinkAnswer,
  refused: () => void = () => {},
): void {
  const before = context.overlay.incomingRequest(peer.environmentId, requestId);
  if (before !== null) {
    const same = before.digest === digest;
    const conflict: LinkAnswer = {
      ok: false,
      refusal: refusal(
        "idempotency_conflict",
        "request_differs",
        `${requestId} was asked with other content`,
        "Ask under a new request id.",
      ),
    };
    context.outbox.write(peer.environmentId, { type: "answer", requestId, answer: same ? before.answer : conflict });
    return;
  }
  const mark = context.overlay.mark();
  let decided: LinkAnswer;
  try {
    decided = decide();
  } catch (error) {
    context.overlay.undoTo(mark);
    decided = { ok: false, refusal: unusable(error) };
    refused();
  }
  context.overlay.putIncomingRequest({ environmentId: peer.environmentId, requestId, digest, answer: decided });
  context.outbox.write(peer.environmentId, { type: "answer", requestId, answer: decided });
}

/** Answers and notices that cannot be applied take their number and are kept for reading (invariant 5). */
function tolerate(context: PlanContext, command: CommandOf<"link.receive">, take: () => void): void {
  const mark = context.overlay.mark();
  try {
    take();
  } catch (error) {
    context.overlay.undoTo(mark);
    keep(context, command, unusable(error).message);
  }
}

/**
 * Why an authentic message cannot be used. A handler that fails by itself would fail again, and everything behind the
 * message would wait for ever (invariant 5); trouble of the store is local, passes, and is thrown on.
 */
function unusable(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
  if (error instanceof StoreFailure) throw error;
  const message = error instanceof Error ? error.message : String(error);
  return refusal(
    "orchestration_error",
    "handler_failed",
    `handling it failed: ${message}`,
    "Report it with the output of ropewalk doctor.",
  );
}

function keep(context: PlanContext, command: { linkId: LinkId; epoch: number; number: number; raw: string }, reason: string): void {
  context.overlay.addKeptMessage({ linkId: command.linkId, epoch: command.epoch, number: command.number, raw: command.raw, reason });
}
