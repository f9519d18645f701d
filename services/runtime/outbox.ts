import type { Emission } from "../../schemas/emission.ts";
import type { EnvironmentId, IncarnationId, LinkId, RequestId } from "../../schemas/ids.ts";
import type { LinkBody, LinkRequest } from "../../schemas/wire.ts";
import { readText } from "./content.ts";
import { contentDigest, nextLinkDigest } from "./link-digest.ts";
import type { Overlay } from "./overlay.ts";
import { digestOrigin } from "./ports/link-ledger.ts";
import type { LinkRow } from "./ports/store.ts";
import { refuse } from "./refused.ts";
import type { Settings } from "./settings.ts";
import { linkFrom } from "./typed-actors.ts";
import type { Outgoing } from "./unit-of-work.ts";

const neverHeldBack: ReadonlySet<LinkRequest["kind"]> = new Set(["task.cancel", "thread.move", "move.abort"]);

/** A link before its first message. */
export function newLinkRow(linkId: LinkId, incarnation: IncarnationId): LinkRow {
  const start = { epoch: 1, number: 0, digest: digestOrigin };
  return {
    linkId,
    incarnation,
    sent: start,
    receipted: start,
    received: null,
    previous: null,
    peerIncarnation: null,
    formerIncarnations: [],
  };
}

/**
 * Begins a new epoch of a link's direction: all that the peer has not confirmed goes out again in it, in its order and under
 * its ids. Returns where the direction stands then; the caller keeps it.
 */
export function sendAgain(context: { overlay: Overlay }, row: LinkRow, epoch: number): Pick<LinkRow, "sent" | "receipted"> {
  const start = { epoch, number: 0, digest: digestOrigin };
  let sent = start;
  for (const message of context.overlay.store.outbox(row.linkId, row.receipted, Number.MAX_SAFE_INTEGER)) {
    sent = { epoch, number: sent.number + 1, digest: nextLinkDigest(sent.digest, contentDigest(message.body)) };
    const { commit: _commit, ...rest } = message;
    context.overlay.addOutbox({ ...rest, ...sent, linkId: row.linkId });
  }
  context.overlay.addReceipted(row.linkId, row.sent);
  return { sent, receipted: start };
}

/**
 * Writes messages to other environments in the commit that caused them: numbered, digested, kept as plain content until
 * the peer's store has them (links.md, invariants 1, 2, 4).
 */
export class Outbox implements Outgoing {
  readonly #overlay: Overlay;
  readonly #settings: Settings;

  constructor(overlay: Overlay, settings: Settings) {
    this.#overlay = overlay;
    this.#settings = settings;
  }

  notice(emission: Extract<Emission, { type: "link.notice" }>): void {
    const { notice } = emission;
    // A person took the link away: nobody is there to be told, and the run that ends here must end all the same.
    if (this.#live(emission.to) === null) return;
    if (notice.kind === "task.started") {
      this.write(emission.to, { type: "notice", notice });
      return;
    }
    const { result, ...rest } = notice;
    this.write(emission.to, { type: "notice", notice: { ...rest, text: result === null ? null : readText(this.#overlay, result) } });
  }

  request(emission: Extract<Emission, { type: "link.request" }>): void {
    // The link was taken away: nobody can be asked, and what is stopped here is stopped all the same.
    if (this.#live(emission.to) === null) return;
    this.ask(emission.to, emission.requestId, emission.request, subjectOf(emission.request));
  }

  /** Asks a peer; the request stays open until its answer comes. `subject` is who waits for it. Returns the message's bytes. */
  ask(to: EnvironmentId, requestId: RequestId, request: LinkRequest, subject: string): number {
    const linkId = this.#linkTo(to);
    // Cancelling makes the peer's work less; a thread that is to depart takes no turns, and cannot wait for room.
    if (!neverHeldBack.has(request.kind) && this.#overlay.outboxCount(linkId) >= this.#settings.linkBacklog)
      refuse(
        "orchestration_error",
        "link_backlogged",
        `too much waits to be sent to ${to}`,
        "Wait until the peer is reachable again: ropewalk link list",
      );
    this.#overlay.putOutgoingRequest({ requestId, environmentId: to, kind: request.kind, subject, answer: null });
    return this.write(to, { type: "request", requestId, request });
  }

  /** Appends a message to the peer's direction. Returns its bytes. */
  write(to: EnvironmentId, body: LinkBody): number {
    const linkId = this.#linkTo(to);
    const row = this.#overlay.link(linkId) ?? newLinkRow(linkId, this.#overlay.store.incarnation);
    const text = JSON.stringify(body);
    const digest = nextLinkDigest(row.sent.digest, contentDigest(text));
    const sent = { epoch: row.sent.epoch, number: row.sent.number + 1, digest };
    this.#overlay.putLink({ ...row, sent });
    this.#overlay.addOutbox({
      linkId,
      epoch: sent.epoch,
      number: sent.number,
      kind: body.type,
      requestId: body.type === "notice" ? null : body.requestId,
      body: text,
      digest,
    });
    return Buffer.byteLength(text);
  }

  /** Whether there is a link to a peer that nobody has ended. */
  reaches(environmentId: EnvironmentId): boolean {
    return this.#live(environmentId) !== null;
  }

  /** The link to a peer, unless a person has ended it. */
  #live(environmentId: EnvironmentId): LinkId | null {
    const id = this.#settings.linkTo(environmentId)?.id ?? null;
    return id === null || linkFrom(this.#overlay, id)?.status === "revoked" ? null : id;
  }

  #linkTo(environmentId: EnvironmentId): LinkId {
    const link = this.#live(environmentId);
    if (link === null)
      refuse("capability_denied", "no_link", `there is no link to ${environmentId}`, "List links with: ropewalk link list");
    return link;
  }
}

/** Who waits for the answer to a request that a machine asks for. */
function subjectOf(request: LinkRequest): string {
  if (request.kind === "task.cancel") return request.taskId;
  return request.kind === "move.abort" ? request.moveId : "";
}
