import type { Command } from "../../schemas/command.ts";
import type { LinkId } from "../../schemas/ids.ts";
import type { LinkPosition } from "../../schemas/link.ts";
import type { LinkBody } from "../../schemas/wire.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { type FactFinder, type Facts, factsFor } from "./facts.ts";
import { factsForMove } from "./move-facts.ts";
import { newLinkRow } from "./outbox.ts";
import type { LinkLedger, LinkLedgerState, OutboxMessage, ReceiveOutcome } from "./ports/link-ledger.ts";
import type { Store } from "./ports/store.ts";
import { linkFrom } from "./typed-actors.ts";

/** The links service's view of the store: every change is a command through the one door. */
export class RuntimeLinkLedger implements LinkLedger {
  readonly #store: Store;
  readonly #dispatcher: Dispatcher;
  readonly #listeners = new Set<(linkId: LinkId) => void>();

  readonly #finder: FactFinder;
  readonly #asking = new Map<LinkId, Promise<Facts>>();

  constructor(store: Store, dispatcher: Dispatcher, finder: FactFinder) {
    this.#store = store;
    this.#dispatcher = dispatcher;
    this.#finder = finder;
  }

  state(linkId: LinkId): LinkLedgerState {
    const row = this.#store.link(linkId) ?? newLinkRow(linkId, this.#store.incarnation);
    const link = linkFrom(this.#store, linkId);
    const status = link?.status;
    return {
      incarnation: this.#store.incarnation,
      sent: row.sent,
      receipted: row.receipted,
      received: row.received,
      previous: row.previous,
      peerIncarnation: row.peerIncarnation,
      diverged: status === "diverged",
      revoked: status === "revoked",
      ended: status === "revoked" ? (link?.ended ?? { how: "revoked", reason: "revoked" }) : null,
    };
  }

  outbox(linkId: LinkId, after: LinkPosition, limit: { messages: number; bytes: number }): OutboxMessage[] {
    return this.#store.outbox(linkId, after, limit.messages, limit.bytes);
  }

  async receive(linkId: LinkId, message: Parameters<LinkLedger["receive"]>[1]): Promise<ReceiveOutcome> {
    const { contentDigest, ...rest } = message;
    const facts = await this.#facts(linkId, message.body);
    const result = await this.#ask({ type: "link.receive", linkId, digest: contentDigest, ...rest }, facts);
    return result.ok ? (result.value as ReceiveOutcome) : { outcome: "waiting", reason: result.why };
  }

  async receipt(linkId: LinkId, received: LinkPosition): Promise<"ok" | "diverged"> {
    return outcome(await this.#ask({ type: "link.receipt", linkId, received }));
  }

  async peerPositions(...[linkId, positions, known]: Parameters<LinkLedger["peerPositions"]>): Promise<"ok" | "diverged"> {
    return outcome(await this.#ask({ type: "link.peer_positions", linkId, positions, known }));
  }

  async transportState(linkId: LinkId, state: "connecting" | "connected" | "lost", error: string | null): Promise<void> {
    await this.#ask({ type: "link.state", linkId, state, error });
  }

  onOutbox(listener: (linkId: LinkId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Called after every commit that wrote to an outbox. */
  wrote(linkIds: ReadonlySet<LinkId>): void {
    for (const linkId of linkIds) for (const listener of this.#listeners) listener(linkId);
  }

  /** What a peer's import names outside. What comes after it waits, so that messages are decided in their order. */
  #facts(linkId: LinkId, body: LinkBody | null): Promise<Facts> | undefined {
    const find = body?.type === "request" ? this.#finding(linkId, body) : null;
    const before = this.#asking.get(linkId);
    if (find === null) return before;
    const found = (before ?? Promise.resolve()).then(find);
    this.#asking.set(linkId, found);
    const done = () => void (this.#asking.get(linkId) === found && this.#asking.delete(linkId));
    found.then(done, done);
    return found;
  }

  /** How what a peer's request needs of the outside is found; null: it needs nothing. */
  #finding(linkId: LinkId, { requestId, request }: Extract<LinkBody, { type: "request" }>): (() => Promise<Facts>) | null {
    if (request.kind === "thread.import" && request.import.worktreePath !== undefined)
      return () => factsFor({ type: "thread.import", import: request.import }, this.#store, this.#finder);
    const { code } = this.#finder;
    const from = linkFrom(this.#store, linkId)?.peerEnvironmentId;
    if ((request.kind !== "thread.move" && request.kind !== "move.preflight") || code === undefined || from === undefined) return null;
    const decided = () => this.#store.incomingRequest(from, requestId) !== null;
    return () => (decided() ? Promise.resolve(new Map()) : factsForMove(request, from, this.#store, code));
  }

  async #ask(command: Command, facts?: Facts): Promise<{ ok: true; value: unknown } | { ok: false; why: string }> {
    const receipt = await this.#dispatcher.report(command, [], facts);
    return receipt.ok ? { ok: true, value: receipt.result } : { ok: false, why: receipt.refusal.message };
  }
}

function outcome(result: { ok: true; value: unknown } | { ok: false }): "ok" | "diverged" {
  return result.ok && (result.value as { outcome?: string }).outcome === "diverged" ? "diverged" : "ok";
}
