import { randomBytes } from "node:crypto";
import type { LinkPosition } from "../../schemas/link.ts";
import type { LinkControl } from "../../schemas/wire.ts";
import type { KnownPositions } from "../runtime/ports/link-ledger.ts";
import { Alarm } from "./alarm.ts";
import type { DeliveryOptions } from "./delivery-options.ts";
import { type LinkSide, sendControl } from "./link-side.ts";

type PositionsMessage = Extract<LinkControl, { type: "positions" }>;

/** What was certain when a question was asked. */
export type Asked = { known: KnownPositions; confirmed: LinkPosition };
/** `outstanding`: something waits for the peer. `holdsNext`: the peer's next message is here and waits. */
export type Standing = Asked & { outstanding: boolean; holdsNext: boolean };

/** How long to leave the peer alone after the last question or sign of life: longer for each question that changed nothing. */
function askAfter(
  outstanding: boolean,
  questions: { withoutProgress: number; withoutAnswer: number },
  options: Pick<DeliveryOptions, "quietMs" | "idleMs" | "unansweredMs">,
): number {
  const idle = Math.min(
    Math.max(options.idleMs, options.unansweredMs),
    options.idleMs * 2 ** Math.min(20, Math.max(0, questions.withoutAnswer - 1)),
  );
  if (!outstanding) return idle;
  return Math.min(options.unansweredMs, options.quietMs * 2 ** Math.min(20, questions.withoutProgress));
}

/**
 * Asks the peer where it stands, and tells it where this side does.
 *
 * When: on connecting, on a gap, on something that was not authentic; while something is outstanding and nothing moves,
 * at growing distances; now and then while idle. A question carries a random challenge. Only its answer is known to be
 * no older than the question: the fabric may keep, repeat and reorder everything else.
 */
export class Exchange {
  readonly #side: LinkSide;
  readonly #standing: () => Standing;
  readonly #alarm: Alarm;
  readonly #soon: Alarm;
  readonly #asked = new Map<string, Asked>();
  readonly #questions = { withoutProgress: 0, withoutAnswer: 0 };
  #askedAt = Number.NEGATIVE_INFINITY;
  #lastAt = 0;
  #open = false;

  constructor(side: LinkSide, standing: () => Standing) {
    this.#side = side;
    this.#standing = standing;
    this.#soon = new Alarm(side.clock, () => this.#ask());
    this.#alarm = new Alarm(side.clock, () => this.#askIfDue());
  }

  open(): void {
    this.#open = true;
    this.#questions.withoutProgress = 0;
    this.#questions.withoutAnswer = 0;
    this.#ask();
  }

  shut(): void {
    this.#open = false;
    this.#alarm.clear();
    this.#soon.clear();
    this.#asked.clear();
  }

  /** There is reason to ask. Questions keep their distance; this one comes as soon as that allows. */
  ask(): void {
    if (!this.#open) return;
    const at = this.#askedAt + this.#side.options.askMs;
    if (at <= this.#side.clock.now()) this.#ask();
    else this.#soon.setBy(at);
  }

  /** The peer said something. */
  heard(): void {
    this.#questions.withoutAnswer = 0;
    this.#lastAt = this.#side.clock.now();
    if (this.#open) this.#alarm.setBy(this.#lastAt + this.#side.options.idleMs);
  }

  /** Messages moved, either way. */
  progress(): void {
    this.#questions.withoutProgress = 0;
    this.heard();
    this.expecting();
  }

  /** Something should move before long. */
  expecting(): void {
    if (this.#open) this.#alarm.setBy(this.#side.clock.now() + askAfter(true, this.#questions, this.#side.options));
  }

  awaits(challenge: string): boolean {
    return this.#asked.has(challenge);
  }

  /** What was certain when the question was asked that `message` answers; null when it answers none of the last ones. */
  answered(message: PositionsMessage): Asked | null {
    if (message.answers === null) return null;
    const asked = this.#asked.get(message.answers);
    if (asked === undefined) return null;
    // Older questions are not answered any more: their answers would prove less.
    for (const challenge of this.#asked.keys()) {
      this.#asked.delete(challenge);
      if (challenge === message.answers) break;
    }
    return asked;
  }

  /** Tells where this side stands, because the peer asked. */
  answer(challenge: string): void {
    void sendControl(this.#side, this.#positions(null, challenge));
  }

  #askIfDue(): void {
    const { outstanding } = this.#standing();
    const due = Math.max(this.#askedAt, this.#lastAt) + askAfter(outstanding, this.#questions, this.#side.options);
    if (this.#side.clock.now() < due) this.#alarm.set(due);
    else this.#ask();
  }

  #ask(): void {
    if (!this.#open) return;
    this.#soon.clear();
    const standing = this.#standing();
    const challenge = randomBytes(16).toString("base64url");
    this.#asked.set(challenge, standing);
    if (this.#asked.size > 16) this.#asked.delete(this.#asked.keys().next().value ?? challenge);
    this.#askedAt = this.#side.clock.now();
    this.#questions.withoutProgress = standing.outstanding ? this.#questions.withoutProgress + 1 : 0;
    this.#questions.withoutAnswer += 1;
    void sendControl(this.#side, this.#positions(challenge, null));
    this.#alarm.set(this.#askedAt + askAfter(standing.outstanding, this.#questions, this.#side.options));
  }

  #positions(challenge: string | null, answers: string | null): LinkControl {
    const { incarnation, sent, received, receipted, peerIncarnation: peer, previous } = this.#side.ledger.state(this.#side.linkId);
    return {
      type: "positions",
      positions: { incarnation, sent, received, receipted, peer, previous },
      challenge,
      answers,
      holdsNext: this.#standing().holdsNext,
    };
  }
}
