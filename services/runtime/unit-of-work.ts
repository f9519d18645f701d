import type { Emission, Tell } from "../../schemas/emission.ts";
import type { Unstamped } from "../../schemas/events/common.ts";
import type { LinkCreated } from "../../schemas/events/link.ts";
import type { MoveCreated } from "../../schemas/events/move.ts";
import type { RunCreated } from "../../schemas/events/run.ts";
import type { TaskCreated } from "../../schemas/events/task.ts";
import type { ThreadCreated } from "../../schemas/events/thread.ts";
import type { TransferCreated } from "../../schemas/events/transfer.ts";
import { type ActorId, type ActorKind, actorKindOf } from "../../schemas/ids.ts";
import { type ActorKeys, actorKeys } from "./actor-keys.ts";
import { statusOf } from "./kernel.ts";
import { kernels } from "./kernels.ts";
import type { Overlay } from "./overlay.ts";
import type { Identifiers } from "./ports/identifiers.ts";
import type { ActorRow } from "./ports/store.ts";
import { refuse } from "./refused.ts";

type Created = Unstamped<ThreadCreated | RunCreated | TransferCreated | TaskCreated | LinkCreated | MoveCreated>;

/** What the unit of work cannot do itself: messages to other environments, which need links. */
export interface Outgoing {
  notice(emission: Extract<Emission, { type: "link.notice" }>): void;
  request(emission: Extract<Emission, { type: "link.request" }>): void;
}

/**
 * Steps actors on an overlay, and carries out what their transitions say: messages to other actors in order until none is
 * left, new actors, effects and outgoing messages. A message that a machine refuses refuses the whole command.
 */
export class UnitOfWork {
  readonly overlay: Overlay;
  readonly ids: Identifiers;
  readonly now: number;
  readonly #outgoing: Outgoing;
  #inbox: { to: ActorId; event: { type: string }; isEmitted: boolean }[] = [];
  #delivering = false;

  constructor(overlay: Overlay, ids: Identifiers, now: number, outgoing: Outgoing) {
    this.overlay = overlay;
    this.ids = ids;
    this.now = now;
    this.#outgoing = outgoing;
  }

  /** Makes an actor and carries out what its first state says. */
  create(id: ActorId, created: Created): void {
    this.#create(id, created);
    this.#deliver();
  }

  /** Sends one message and everything that follows from it. Throws Refused when a machine refuses any of them. */
  tell(tell: Tell): void {
    this.#inbox.push({ to: tell.to, event: tell.event, isEmitted: false });
    this.#deliver();
  }

  /** Like `tell`, for news from the outside: what the machine ignores is kept in the journal as ignored. */
  report(tell: Tell): "applied" | "ignored" {
    const verdict = this.#step(tell.to, tell.event, true);
    this.#deliver();
    return verdict;
  }

  #create(id: ActorId, created: Created): void {
    const kind = actorKindOf(id);
    const kernel = kernels[kind];
    const event = { ...created, at: this.now, eid: this.ids.uuid() };
    const { next, emissions } = kernel.init(event);
    const keys = this.#keys(kind, next.context, this.overlay.nextCreation());
    const status = statusOf(next.state);
    this.overlay.putActor({ id, kind, version: kernel.machine.version ?? "", seq: 1, ...next, status, ...keys });
    this.overlay.addJournal({ actorId: id, kind, seq: 1, event, from: null, to: status, verdict: "applied" });
    this.#carryOut(emissions);
  }

  #deliver(): void {
    if (this.#delivering) return;
    this.#delivering = true;
    try {
      for (let next = this.#inbox.shift(); next !== undefined; next = this.#inbox.shift())
        this.#step(next.to, next.event, false, next.isEmitted);
    } finally {
      this.#delivering = false;
      this.#inbox = [];
    }
  }

  #step(to: ActorId, unstamped: { type: string }, recordIgnored: boolean, isEmitted = false): "applied" | "ignored" {
    const row = this.overlay.actor(to);
    if (row === null && isEmitted && this.#isSetAside(to)) return this.#passBy(to, unstamped);
    if (row === null)
      refuse("orchestration_error", "actor_missing", `${to} is not in the store`, "It may have been set aside; see ropewalk doctor.");
    const event = { ...unstamped, at: this.now, eid: this.ids.uuid() };
    const verdict = kernels[row.kind].step(row, event);
    if (verdict.kind === "rejected")
      refuse(
        "invalid_request",
        `not_${verdict.reason === "terminal" ? "after_its_end" : "allowed_now"}`,
        `${to} is ${row.status}: ${event.type} is not allowed`,
        "Look at its present state and send what fits it.",
        {
          actorId: to,
          status: row.status,
          event: event.type,
        },
      );
    if (verdict.kind === "ignored") {
      if (recordIgnored)
        this.overlay.addJournal({ actorId: to, kind: row.kind, seq: 0, event, from: row.status, to: row.status, verdict: "ignored" });
      return "ignored";
    }
    const status = statusOf(verdict.next.state);
    const keys = this.#keys(row.kind, verdict.next.context, row.ordinal ?? 0);
    const next: ActorRow = { ...row, ...verdict.next, version: kernels[row.kind].machine.version ?? "", seq: row.seq + 1, status, ...keys };
    this.overlay.putActor(next);
    this.overlay.addJournal({ actorId: to, kind: row.kind, seq: next.seq, event, from: row.status, to: status, verdict: "applied" });
    this.#carryOut(verdict.emissions);
    return "applied";
  }

  #isSetAside(id: ActorId): boolean {
    return this.overlay.store.setAside().some((row) => row.id === id);
  }

  /**
   * What another actor says to one whose row cannot be read stays in the journal, where it can be read. It does not stop
   * the one that said it: a run ends, whatever its task's row has come to (case R04).
   */
  #passBy(to: ActorId, unstamped: { type: string }): "ignored" {
    const event = { ...unstamped, at: this.now, eid: this.ids.uuid() };
    this.overlay.addJournal({ actorId: to, kind: actorKindOf(to), seq: 0, event, from: null, to: "set_aside", verdict: "ignored" });
    return "ignored";
  }

  #carryOut(emissions: readonly Emission[]): void {
    for (const emission of emissions) {
      switch (emission.type) {
        case "tell":
          this.#inbox.push({ to: emission.to, event: emission.event, isEmitted: true });
          break;
        case "create.transfer":
          this.#create(emission.input.id, { type: "transfer.created", input: emission.input });
          break;
        case "effect":
          this.overlay.addEffect({ id: this.ids.next("effect"), request: emission.request });
          break;
        case "link.notice":
          this.#outgoing.notice(emission);
          break;
        case "link.request":
          this.#outgoing.request(emission);
          break;
      }
    }
  }

  #keys(kind: ActorKind, context: unknown, creation: number): ActorKeys {
    return (actorKeys[kind] as (context: unknown, creation: number) => ActorKeys)(context, creation);
  }
}
