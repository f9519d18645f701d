import { type LinkSide, sendControl } from "./link-side.ts";

/** This side of a link that a person here has ended: nothing of it is applied or sent, and its peer is told so. */
export class EndedLink {
  readonly #side: LinkSide;
  #takenBack = false;

  constructor(side: LinkSide) {
    this.#side = side;
  }

  /** What the fabric still has of our direction is not for the peer any more. What it has received already, it has. */
  takeBack(): void {
    if (this.#takenBack) return;
    this.#takenBack = true;
    const { transport, out, log, linkId } = this.#side;
    transport.forget(out).catch((error: unknown) => log.debug({ linkId, error: String(error) }, "its messages are not taken back"));
  }

  /** Whoever is authentic is told, once for all that came together. */
  async turnAway(batch: readonly Uint8Array[]): Promise<void> {
    const { ledger, linkId, seal } = this.#side;
    const { ended } = ledger.state(linkId);
    if (ended === null || !batch.some((sealed) => seal.open(sealed).ok)) return;
    await sendControl(this.#side, { type: "ended", how: ended.how, reason: ended.reason });
  }
}
