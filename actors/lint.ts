import type { AnyStateMachine } from "xstate";
import { definitionOf, nodesOf } from "./definition.ts";

const dataActions = new Set(["xstate.assign", "xstate.emit", "xstate.enqueueActions"]);
const transitionKeys = new Set(["target", "guard", "actions", "reenter", "description", "meta"]);
const stateKeys = new Set([
  "id",
  "version",
  "context",
  "initial",
  "states",
  "on",
  "type",
  "description",
  "meta",
  "tags",
  "output",
  "schemas",
]);

/**
 * Closes the holes that the type checker leaves open (quality.md): an unknown action or guard name, a misspelled key, a
 * bad `initial`, and everything that cannot be persisted (`invoke`, `after`, `always`, entry and exit actions, closures).
 * Returns what is wrong, one line each; empty for a sound machine.
 */
export function lintMachine(machine: AnyStateMachine, knownEvents: readonly string[]): string[] {
  const wrong: string[] = [];
  const say = (where: string, what: string) => wrong.push(`${machine.id}${where === "" ? "" : `.${where}`}: ${what}`);
  if (!machine.version) say("", "has no version");
  const known = machine.implementations as { actions: Record<string, unknown>; guards: Record<string, unknown> };
  const used = new Set<string>();
  for (const node of nodesOf(definitionOf(machine))) {
    for (const key of node.configKeys) if (!stateKeys.has(key)) say(node.path, `key "${key}" is not allowed in a durable machine`);
    if (node.type === "compound" && node.children.every((c) => c.key !== node.initial))
      say(node.path, `initial "${node.initial}" is no state`);
    if (node.type === "parallel" || node.type === "history") say(node.path, `a ${node.type} state is not allowed`);
    for (const t of node.transitions) {
      const at = `${node.path} on ${t.event}`;
      used.add(t.event);
      if (!knownEvents.includes(t.event)) say(at, "no schema has this event");
      for (const key of t.configKeys) if (!transitionKeys.has(key)) say(at, `key "${key}" is unknown`);
      if (t.guard !== null && t.guard !== "inline" && !(t.guard in known.guards)) say(at, `guard "${t.guard}" is unknown`);
      for (const name of t.inlineActions) if (!dataActions.has(name)) say(at, `action "${name}" is not data`);
      for (const name of t.actions) {
        const action = known.actions[name] as { type?: string } | undefined;
        if (action === undefined) say(at, `action "${name}" is unknown`);
        else if (!dataActions.has(action.type ?? "")) say(at, `action "${name}" is not data`);
      }
    }
  }
  for (const event of knownEvents) if (!used.has(event)) say("", `event ${event} is used in no state`);
  return wrong;
}
