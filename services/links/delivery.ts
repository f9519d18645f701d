import type { IncarnationId } from "../../schemas/ids.ts";
import type { LinkPosition } from "../../schemas/link.ts";
import type { LinkControl } from "../../schemas/wire.ts";
import type { LinkChannel, TransportState } from "../runtime/ports/link-transport.ts";
import { EndedLink } from "./ended-link.ts";
import { Exchange, type Standing } from "./exchange.ts";
import { Incoming } from "./incoming.ts";
import { type LinkSide, readControl } from "./link-side.ts";
import { Outgoing } from "./outgoing.ts";
import { Receipts } from "./receipts.ts";
import type { LinkStatistics } from "./statistics.ts";

type PositionsMessage = Extract<LinkControl, { type: "positions" }>;

/**
 * One link, both directions: what came in goes to the parts that it concerns, and what they need of each other is said
 * here. The rules are in `outbound-window.ts`, `inbound-order.ts` and `exchange.ts`; links.md has the promise.
 */
export class LinkDelivery {
  readonly #side: LinkSide;
  readonly #outgoing: Outgoing;
  readonly #incoming: Incoming;
  readonly #exchange: Exchange;
  readonly #receipts: Receipts;
  readonly #ended: EndedLink;
  #stopConsuming: (() => Promise<void>) | null = null;
  #told: TransportState["state"] | null = null;
  #telling: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(side: LinkSide) {
    this.#side = side;
    this.#outgoing = new Outgoing(side);
    this.#receipts = new Receipts(side);
    this.#ended = new EndedLink(side);
    this.#exchange = new Exchange(side, () => this.#standing());
    this.#incoming = new Incoming(side, {
      receiptOwed: () => {
        this.#receipts.owe();
        this.#exchange.progress();
      },
      applied: () => {
        this.#receipts.send();
        // What came while it was held up was let go beyond a bound.
        if (this.#incoming.behind && !this.#incoming.holdsNext) this.#exchange.ask();
      },
      missing: () => this.#exchange.ask(),
      diverged: () => this.#refresh(),
    });
    this.#refresh();
  }

  async start(): Promise<void> {
    this.#stopConsuming = await this.#side.transport.consume(this.#side.in, (batch) => this.#take(batch));
  }

  /** The transport's state changed. */
  transport(state: TransportState): void {
    const { statistics } = this.#side;
    statistics.transport = state.state;
    if (state.state !== "connected") {
      statistics.answered = false;
      this.#outgoing.shut();
      this.#exchange.shut();
      this.#tell(state.state, state.state === "lost" ? state.error : null);
      return;
    }
    this.#refresh();
    // A link that was ended is heard all the same, so that its peer can be told.
    if (statistics.revoked) this.#ended.takeBack();
    if (statistics.revoked || this.#stopped) return;
    this.#tell("connecting", null);
    this.#exchange.open();
    this.#receipts.send();
    if (!statistics.diverged) this.#outgoing.open();
  }

  /** The fabric lost what it had of a channel. */
  renewed(channel: LinkChannel): void {
    if (channel.from === this.#side.out.from) this.#outgoing.renewed();
    this.#exchange.ask();
  }

  /** The outbox grew. */
  grown(): void {
    const { statistics } = this.#side;
    if (statistics.diverged || statistics.revoked) this.#refresh();
    this.#outgoing.pump();
    if (statistics.transport === "connected") this.#exchange.expecting();
  }

  statistics(): LinkStatistics {
    this.#refresh();
    return structuredClone(this.#side.statistics);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#stopConsuming?.();
    await this.#incoming.stop();
    await this.#receipts.stop();
    this.#exchange.shut();
    await this.#outgoing.stop();
    await this.#telling;
  }

  async #take(batch: Uint8Array[]): Promise<void> {
    if (this.#side.statistics.revoked) return this.#ended.turnAway(batch);
    const controls: LinkControl[] = [];
    let offered = 0;
    for (const sealed of batch) {
      offered += this.#open(sealed, controls);
      // In between, so that neither the order nor the event loop gets more than it can hold.
      if (offered >= this.#side.options.applyMessages) {
        await this.#incoming.apply();
        this.#receipts.send();
        offered = 0;
      }
    }
    // Both are commits: one may take them together.
    await Promise.all([this.#incoming.apply(), this.#takeReceipts(controls)]);
    const ended = controls.find((control) => control.type === "ended");
    if (ended !== undefined) this.#endedByPeer(ended);
    for (const control of controls) if (control.type === "blob_wanted") this.#outgoing.blobWanted(control.digest);
    for (const positions of this.#lastPositions(controls)) await this.#takePositions(positions);
    this.#receipts.send();
  }

  /** Opens what one publish carried and puts each message where it belongs; how many numbered ones there were. */
  #open(sealed: Uint8Array, controls: LinkControl[]): number {
    const opened = this.#side.seal.open(sealed);
    if (!opened.ok) {
      this.#refuse(opened.reason, sealed.length);
      return 0;
    }
    this.#side.statistics.refused.unusable += opened.unplaced;
    let numbered = 0;
    for (const message of opened.messages) {
      if (message.head.number > 0) {
        this.#incoming.offer(message);
        numbered += 1;
        continue;
      }
      const control = readControl(message.body);
      if (control === null) this.#side.statistics.refused.unusable += 1;
      else if (control.type !== "receipt" || this.#knows(message.head.incarnation)) controls.push(control);
    }
    return numbered;
  }

  /** The peer takes nothing any more: what is here stays here, visibly, and it is asked again when this process starts anew. */
  #endedByPeer({ how, reason }: Extract<LinkControl, { type: "ended" }>): void {
    const { statistics } = this.#side;
    statistics.endedByPeer = { how, reason };
    this.#outgoing.shut();
    this.#exchange.shut();
    this.#tell("lost", `the other side has ${how} this link: ${reason}`);
  }

  /** A receipt speaks for the store that gave it: one of a copy, or of what the peer was before, is not the peer's. */
  #knows(incarnation: IncarnationId): boolean {
    const { peerIncarnation } = this.#side.ledger.state(this.#side.linkId);
    return peerIncarnation === null || peerIncarnation === incarnation;
  }

  /** Not from the peer, or damaged: counted, dropped, and asked for again. */
  #refuse(reason: string, bytes: number): void {
    const { statistics, log, linkId } = this.#side;
    statistics.refused.notAuthentic += 1;
    log.debug({ linkId, reason, bytes }, "a message was refused");
    this.#exchange.ask();
  }

  /** A later receipt says all that an earlier one does. */
  async #takeReceipts(controls: LinkControl[]): Promise<void> {
    let latest: LinkPosition | null = null;
    for (const control of controls) {
      if (control.type !== "receipt") continue;
      if (latest === null || isBehind(latest, control.received)) latest = control.received;
    }
    if (latest !== null) await this.#takeReceipt(latest);
  }

  async #takeReceipt(received: LinkPosition): Promise<void> {
    const { ledger, linkId, statistics, clock, log } = this.#side;
    if (statistics.diverged) return;
    try {
      if ((await ledger.receipt(linkId, received)) === "diverged") return this.#refresh();
    } catch (error) {
      // The store is in trouble. The peer says it again when it is asked.
      log.warn({ linkId, error: String(error) }, "a receipt was not stored");
      return;
    }
    statistics.lastReceiptAt = clock.now();
    this.#outgoing.receipted(received);
    this.#exchange.progress();
  }

  /** Of many statements (a sleeper finds a week of them) three count: the last one, the last question, the last answer to ours. */
  #lastPositions(controls: LinkControl[]): PositionsMessage[] {
    const statements = controls.filter((control) => control.type === "positions");
    const question = statements.findLast(({ challenge }) => challenge !== null);
    const answer = statements.findLast(({ answers }) => answers !== null && this.#exchange.awaits(answers));
    const counting = new Set([question, answer, statements.at(-1)]);
    return statements.filter((statement) => counting.has(statement));
  }

  async #takePositions(message: PositionsMessage): Promise<void> {
    const { ledger, linkId, statistics, clock, log } = this.#side;
    const { positions, challenge } = message;
    const asked = this.#exchange.answered(message);
    statistics.lastExchangeAt = clock.now();
    this.#exchange.heard();
    try {
      await ledger.peerPositions(linkId, positions, asked?.known ?? null);
    } catch (error) {
      log.warn({ linkId, error: String(error) }, "positions were not stored");
      return;
    }
    this.#refresh();
    if (challenge !== null) this.#exchange.answer(challenge);
    if (asked !== null) this.#answered();
    // It may be old and prove nothing; if it is not, the peer has lost what it had. Only an answer tells.
    else if (this.#saysLess(positions)) this.#exchange.ask();
    if (statistics.diverged || !this.#knows(positions.incarnation)) return;
    const { sent, receipted, received } = ledger.state(linkId);
    const theirs = positions.received?.epoch === sent.epoch ? positions.received : null;
    if (theirs !== null && theirs.number > receipted.number) await this.#takeReceipt(theirs);
    const proven = asked !== null && asked.confirmed.epoch === sent.epoch ? asked.confirmed.number : null;
    if (!message.holdsNext) this.#outgoing.peerHas(theirs?.number ?? 0, proven);
    if (isBehind(received, positions.sent)) this.#exchange.expecting();
    await this.#incoming.tryAgain();
  }

  /** True when the peer claims less than this store knows it to have, in either direction. */
  #saysLess({ incarnation, sent, received }: PositionsMessage["positions"]): boolean {
    const state = this.#side.ledger.state(this.#side.linkId);
    if (incarnation !== state.peerIncarnation) return false;
    return isBehind(sent, state.received ?? sent) || isBehind(received, state.receipted);
  }

  #answered(): void {
    this.#side.statistics.answered = true;
    this.#tell("connected", null);
  }

  #standing(): Standing {
    const { receipted, received } = this.#side.ledger.state(this.#side.linkId);
    const outstanding = this.#outgoing.outstanding || this.#incoming.behind;
    const { confirmed } = this.#outgoing;
    return { known: { receipted, received }, confirmed, outstanding, holdsNext: this.#incoming.holdsNext };
  }

  /** Takes over what the store says of the link. */
  #refresh(): void {
    const { ledger, linkId, statistics, log } = this.#side;
    const state = ledger.state(linkId);
    const wasDiverged = statistics.diverged;
    statistics.backlog = state.sent.number - (state.receipted.epoch === state.sent.epoch ? state.receipted.number : 0);
    statistics.diverged = state.diverged;
    statistics.revoked = state.revoked;
    if (state.diverged && !wasDiverged) {
      log.warn({ linkId }, "the two stores disagree; nothing more is applied");
      this.#outgoing.shut();
      // The peer is told, so that it sees it as well.
      this.#exchange.ask();
    }
    if (!state.diverged && wasDiverged && statistics.transport === "connected" && !state.revoked) this.#outgoing.open();
    if (state.revoked) this.#outgoing.shut();
  }

  /** One report at a time, in order; a report that the store could not take is made good by the next change. */
  #tell(state: TransportState["state"], error: string | null): void {
    if (this.#told === state || this.#stopped) return;
    this.#told = state;
    const { ledger, linkId, log } = this.#side;
    this.#telling = this.#telling
      .then(() => ledger.transportState(linkId, state, error))
      .catch((failure: unknown) => {
        if (this.#told === state) this.#told = null;
        log.warn({ linkId, state, error: String(failure) }, "the link's state was not stored");
      });
  }
}

function isBehind(received: LinkPosition | null, sent: LinkPosition): boolean {
  if (received === null || sent.epoch > received.epoch) return sent.number > 0;
  return sent.epoch === received.epoch && sent.number > received.number;
}
