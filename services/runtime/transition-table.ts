import type { AnyStateMachine, StateValue } from "xstate";
import type { Emission } from "../../schemas/emission.ts";

/** What one transition did: its context, whether anything was assigned, and what it emitted. */
export type Stage = { context: object; event: { type: string }; assigned: boolean; emissions: Emission[] };

type Candidate = {
  guard: ((args: { context: object; event: { type: string } }) => boolean) | null;
  actions: ((stage: Stage) => void)[];
  /** Where it leads; null when the state stays. */
  to: Leaf | null;
};

/** A state that a machine can rest in, with all that can happen there: its own transitions first, then its ancestors'. */
export type Leaf = { value: StateValue; isFinal: boolean; on: Map<string, Candidate[]> };

export type TransitionTable = { initial: Leaf; leaves: ReadonlyMap<string, Leaf>; context(created: unknown): object };

/** Under what a state value is found in a table. */
export function keyOf(value: StateValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

type Node = {
  key: string;
  parent?: Node;
  initial: { target: Node[] };
  states: Record<string, Node>;
  type: string;
  transitions: Map<string, { target?: Node[]; guard?: unknown; actions: unknown[] }[]>;
};
type Patch = Record<string, unknown> | ((args: object) => Record<string, unknown>);
type Action = { type?: string; assignment?: Patch; event?: unknown; collect?: (args: object) => void };

/**
 * Reads a machine's own definition into a table of what each event does in each state. Only for machines that
 * `lintMachine` finds sound: states nest, but nothing is parallel, delayed, invoked or done on entry and exit, and actions
 * assign and emit.
 */
export function transitionTable(machine: AnyStateMachine): TransitionTable {
  const root = machine.root as unknown as Node;
  const implementations = machine.implementations as unknown as { actions: Record<string, Action>; guards: Record<string, unknown> };
  const known = new Map<Node, Leaf>();
  for (const node of leavesBelow(root)) known.set(node, { value: stateValueOf(node), isFinal: node.type === "final", on: new Map() });
  const leafOf = (node: Node): Leaf => {
    let at = node;
    while (at.type === "compound") at = at.initial.target[0] as Node;
    const leaf = known.get(at);
    if (leaf === undefined) throw new Error(`${machine.id}: ${node.key} leads to no state`);
    return leaf;
  };
  for (const [node, leaf] of known)
    for (let at: Node | undefined = node; at !== undefined; at = at.parent)
      for (const [event, transitions] of at.transitions) {
        const candidates = leaf.on.get(event) ?? [];
        for (const t of transitions)
          candidates.push({
            guard: t.guard === undefined ? null : guardOf(t.guard, implementations.guards),
            actions: t.actions.map((a) => actionOf(typeof a === "string" ? implementations.actions[a] : (a as Action))),
            to: t.target?.[0] === undefined ? null : leafOf(t.target[0]),
          });
        leaf.on.set(event, candidates);
      }
  const factory = machine.config.context as unknown;
  return {
    initial: leafOf(root),
    leaves: new Map([...known.values()].map((leaf) => [keyOf(leaf.value), leaf])),
    context: (created) => (typeof factory === "function" ? (factory({ input: created }) as object) : ((factory ?? {}) as object)),
  };
}

function leavesBelow(node: Node): Node[] {
  const children = Object.values(node.states);
  return children.length === 0 ? [node] : children.flatMap(leavesBelow);
}

function stateValueOf(leaf: Node): StateValue {
  let value: StateValue = leaf.key;
  for (let at = leaf.parent; at?.parent !== undefined; at = at.parent) value = { [at.key]: value };
  return value;
}

function guardOf(guard: unknown, known: Record<string, unknown>): NonNullable<Candidate["guard"]> {
  const found = typeof guard === "string" ? known[guard] : guard;
  if (typeof found !== "function" || "check" in found)
    throw new Error(`the guard ${String(guard)} is of a kind that a durable machine cannot have`);
  return found as NonNullable<Candidate["guard"]>;
}

function actionOf(action: Action | undefined): (stage: Stage) => void {
  const { assignment, collect } = action ?? {};
  switch (action?.type) {
    case "xstate.assign":
      return (stage) => assign(stage, assignment as Patch);
    case "xstate.emit":
      return (stage) => emit(stage, action.event);
    case "xstate.enqueueActions":
      return (stage) => collect?.({ context: stage.context, event: stage.event, enqueue: queueOf(stage) });
    default:
      return () => {
        throw new Error(`a durable machine may only emit data, not run ${action?.type ?? "something unknown"}`);
      };
  }
}

function assign(stage: Stage, patch: Patch): void {
  const args = { context: stage.context, event: stage.event };
  let update: Record<string, unknown> = {};
  if (typeof patch === "function") update = patch(args);
  else for (const [key, value] of Object.entries(patch)) update[key] = typeof value === "function" ? value(args) : value;
  stage.context = { ...stage.context, ...update };
  stage.assigned = true;
}

function emit(stage: Stage, event: unknown): void {
  stage.emissions.push((typeof event === "function" ? event({ context: stage.context, event: stage.event }) : event) as Emission);
}

/** What is put in line is carried out at once: nothing but data comes of it, in the same order. */
const queueOf = (stage: Stage) => ({
  assign: (patch: Patch) => assign(stage, patch),
  emit: (event: unknown) => emit(stage, event),
});
