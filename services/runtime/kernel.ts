import type { AnyStateMachine, StateValue } from "xstate";
import type { Emission } from "../../schemas/emission.ts";
import { keyOf, type Leaf, type Stage, type TransitionTable, transitionTable } from "./transition-table.ts";

/** A resting actor: what the store keeps. The status is the top-level key of `state`. */
export type Resting = { state: StateValue; context: unknown };

export type Verdict =
  | { kind: "applied"; next: Resting; emissions: Emission[] }
  /** Declared to change nothing: a repeat, or late news. */
  | { kind: "ignored" }
  | { kind: "rejected"; reason: "illegal" | "guard" | "terminal" };

/** The public status of a state value: its top-level key. */
export function statusOf(state: StateValue): string {
  return typeof state === "string" ? state : (Object.keys(state)[0] ?? "");
}

/**
 * Drives one pure machine, a step at a time. The one place that knows how: it is held equal to the library's own
 * `transition()` by a property test, and is what another major version of the library would replace.
 *
 * The library's step prepares for actors, children, parallel states and history at every call (8 us, and 22 for a first
 * state). A durable machine has none of these, so its own definition, read once into a table, says all that a step needs.
 */
export class Kernel {
  readonly machine: AnyStateMachine;
  readonly #table: TransitionTable;

  constructor(machine: AnyStateMachine) {
    this.machine = machine;
    this.#table = transitionTable(machine);
  }

  /** The first state of a new actor. `created` is its `<noun>.created` event. */
  init(created: { type: string }): { next: Resting; emissions: Emission[] } {
    return { next: { state: this.#table.initial.value, context: this.#table.context(created) }, emissions: [] };
  }

  step(at: Resting, event: { type: string }): Verdict {
    const leaf = this.#leaf(at.state);
    if (leaf.isFinal) return { kind: "rejected", reason: "terminal" };
    const candidates = leaf.on.get(event.type);
    if (candidates === undefined) return { kind: "rejected", reason: "illegal" };
    const stage: Stage = { context: at.context as object, event, assigned: false, emissions: [] };
    const chosen = candidates.find((c) => c.guard === null || c.guard(stage));
    if (chosen === undefined) return { kind: "rejected", reason: "guard" };
    for (const run of chosen.actions) run(stage);
    const to = chosen.to ?? leaf;
    if (to === leaf && !stage.assigned && stage.emissions.length === 0) return { kind: "ignored" };
    return { kind: "applied", next: { state: to.value, context: stage.context }, emissions: stage.emissions };
  }

  /** Replays a journal: no emission is carried out. Throws when the machine no longer accepts an event of it. */
  fold(from: Resting, events: readonly { type: string }[]): Resting {
    let at = from;
    for (const event of events) {
      const verdict = this.step(at, event);
      if (verdict.kind === "rejected") throw new Error(`${this.machine.id} no longer accepts ${event.type} in ${statusOf(at.state)}`);
      if (verdict.kind === "applied") at = verdict.next;
    }
    return at;
  }

  #leaf(state: StateValue): Leaf {
    const leaf = this.#table.leaves.get(keyOf(state));
    if (leaf === undefined) throw new Error(`${this.machine.id} has no state ${keyOf(state)}`);
    return leaf;
  }
}
