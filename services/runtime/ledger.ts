import type { Command } from "../../schemas/command.ts";
import type { LinkId } from "../../schemas/ids.ts";
import type { LinkPosition } from "../../schemas/link.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { newLinkRow } from "./outbox.ts";
import type { LinkLedger, LinkLedgerState, OutboxMessage, ReceiveOutcome } from "./ports/link-ledger.ts";
import type { Store } from "./ports/store.ts";
import { linkFrom } from "./typed-actors.ts";

/** The links service's view of the store: every change is a command through the one door. */
export class RuntimeLinkLedger implements LinkLedger {
  readonly #store: Store;
  readonly #dispatcher: Dispatcher;
  readonly #listeners = new Set<(linkId: LinkId) => void>();

  constructor(store: Store, dispatcher: Dispatcher) {
    this.#store = store;
    this.#dispatcher = dispatcher;
  }

  state(linkId: LinkId): LinkLedgerState {
    const row = this.#store.link(linkId) ?? newLinkRow(linkId);
    const status = linkFrom(this.#store, linkId)?.status;
    return {
      incarnation: this.#store.incarnation,
      sent: row.sent,
      receipted: row.receipted,
      received: row.received,
      previous: row.previous,
      peerIncarnation: row.peerIncarnation,
      diverged: status === "diverged",
      revoked: status === "revoked",
    };
  }

  outbox(linkId: LinkId, after: LinkPosition, limit: { messages: number; bytes: number }): OutboxMessage[] {
    const taken: OutboxMessage[] = [];
    let bytes = 0;
    for (const message of this.#store.outbox(linkId, after, limit.messages)) {
      if (taken.length > 0 && bytes >= limit.bytes) break;
      taken.push(message);
      bytes += Buffer.byteLength(message.body);
    }
    return taken;
  }

  async receive(linkId: LinkId, message: Parameters<LinkLedger["receive"]>[1]): Promise<ReceiveOutcome> {
    const { contentDigest, ...rest } = message;
    const result = await this.#ask({ type: "link.receive", linkId, digest: contentDigest, ...rest });
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

  async #ask(command: Command): Promise<{ ok: true; value: unknown } | { ok: false; why: string }> {
    const receipt = await this.#dispatcher.report(command);
    return receipt.ok ? { ok: true, value: receipt.result } : { ok: false, why: receipt.refusal.message };
  }
}

function outcome(result: { ok: true; value: unknown } | { ok: false }): "ok" | "diverged" {
  return result.ok && (result.value as { outcome?: string }).outcome === "diverged" ? "diverged" : "ok";
}
