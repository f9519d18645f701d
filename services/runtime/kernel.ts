import { type AnyActorLogic, type AnyMachineSnapshot, type AnyStateMachine, initialTransition, type StateValue, transition } from "xstate";
import type { Emission } from "../../schemas/emission.ts";

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
 * `transition()` builds a throw-away actor from the logic that it is given, initial state included; a light logic object
 * with a constant initial snapshot makes that cheap while using the public API alone.
 */
export class Kernel {
  readonly machine: AnyStateMachine;
  readonly #light: AnyActorLogic;
  readonly #templates = new Map<string, AnyMachineSnapshot>();

  constructor(machine: AnyStateMachine) {
    this.machine = machine;
    const start = { status: "active", output: undefined, error: undefined, value: {}, context: {}, children: {} };
    this.#light = {
      transition: (snapshot: AnyMachineSnapshot, event: never, scope: never) => machine.transition(snapshot, event, scope),
      getInitialSnapshot: () => start,
      getPersistedSnapshot: (snapshot: unknown) => snapshot,
    } as unknown as AnyActorLogic;
  }

  /** The first state of a new actor. `created` is its `<noun>.created` event. */
  init(created: { type: string }): { next: Resting; emissions: Emission[] } {
    const [snapshot, actions] = initialTransition(this.machine, created as never);
    const error = (snapshot as { error?: unknown }).error;
    if (error !== undefined) throw error;
    return { next: rest(snapshot), emissions: emissionsOf(actions) };
  }

  step(at: Resting, event: { type: string }): Verdict {
    const snapshot = this.#wake(at);
    if (snapshot.status !== "active") return { kind: "rejected", reason: "terminal" };
    const [next, actions] = transition(this.#light, snapshot as never, event as never);
    const emissions = emissionsOf(actions);
    if ((next as unknown) !== snapshot || emissions.length > 0) return { kind: "applied", next: rest(next), emissions };
    if (this.machine.getTransitionData(snapshot as never, event as never).length > 0) return { kind: "ignored" };
    const nodes = (snapshot as unknown as { _nodes: { transitions: Map<string, unknown> }[] })._nodes;
    return { kind: "rejected", reason: nodes.some((n) => n.transitions.has(event.type)) ? "guard" : "illegal" };
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

  #wake(at: Resting): AnyMachineSnapshot {
    const key = typeof at.state === "string" ? at.state : JSON.stringify(at.state);
    let template = this.#templates.get(key);
    if (template === undefined) {
      template = this.machine.resolveState({ value: at.state, context: {} } as never) as AnyMachineSnapshot;
      this.#templates.set(key, template);
    }
    return { ...template, context: at.context } as AnyMachineSnapshot;
  }
}

function rest(snapshot: unknown): Resting {
  const { value, context } = snapshot as { value: StateValue; context: unknown };
  return { state: value, context };
}

function emissionsOf(actions: readonly { type: string; params: unknown }[]): Emission[] {
  const out: Emission[] = [];
  for (const action of actions) {
    if (action.type !== "xstate.emit") throw new Error(`a durable machine may only emit data, not run ${action.type}`);
    out.push((action.params as { event: Emission }).event);
  }
  return out;
}
