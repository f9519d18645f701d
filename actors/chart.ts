import type { ActorKind } from "../schemas/ids.ts";
import { definitionOf, nodesOf } from "./definition.ts";
import { type LegalityTable, legalityTable } from "./legality.ts";
import { eventTypes, machines } from "./machines.ts";

/** A machine as data: what a drawing, a table or a tool of somebody else is made from. */
export type Chart = {
  kind: ActorKind;
  /** First state. */
  initial: string | null;
  states: ChartState[];
  transitions: ChartTransition[];
  legality: LegalityTable;
};
/** `path` joins the keys from the root by dots; `parent` is null for a top-level state. */
export type ChartState = { path: string; parent: string | null; initial: string | null; isFinal: boolean };
/** `to` is empty where the state stays. What is declared to change nothing has no transition here, only a cell in `legality`. */
export type ChartTransition = { from: string; event: string; to: string[]; guard: string | null; actions: string[] };

/** The statechart of a kind of actor, read off the machine itself. */
export function chartOf(kind: ActorKind): Chart {
  const machine = machines[kind];
  const root = definitionOf(machine);
  const inner = nodesOf(root).filter((node) => node.parent !== null);
  return {
    kind,
    initial: root.initial,
    states: inner.map((node) => ({
      path: node.path,
      parent: node.parent === root ? null : (node.parent?.path ?? null),
      initial: node.initial,
      isFinal: node.type === "final",
    })),
    transitions: inner.flatMap((node) =>
      node.transitions
        .filter((t) => t.targets.length + t.actions.length + t.inlineActions.length > 0)
        .map((t) => ({ from: node.path, event: t.event, to: t.targets, guard: t.guard, actions: t.actions })),
    ),
    legality: legalityTable(machine, eventTypes[kind]),
  };
}
