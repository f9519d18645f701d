import type { AnyStateMachine } from "xstate";

/**
 * A plain view of a machine's definition: what the lint, the legality table and the charts read. The library's own node
 * objects are semi-public; this is the one place that knows their shape.
 */
export type StateNode = {
  /** Path from the root, joined by dots; the root's is empty. */
  path: string;
  key: string;
  type: "atomic" | "compound" | "parallel" | "final" | "history";
  initial: string | null;
  parent: StateNode | null;
  children: StateNode[];
  transitions: Transition[];
  /** Keys of the node's own configuration, as written. */
  configKeys: string[];
};

export type Transition = {
  event: string;
  /** Paths; empty when the state stays. */
  targets: string[];
  guard: string | null;
  actions: string[];
  /** Action objects without a name that the library knows how to treat as data (assign, emit, enqueueActions). */
  inlineActions: string[];
  configKeys: string[];
};

type LibraryNode = {
  key: string;
  path: string[];
  type: StateNode["type"];
  config: { initial?: unknown; on?: Record<string, unknown> } & Record<string, unknown>;
  states: Record<string, LibraryNode>;
  transitions: Map<string, LibraryTransition[]>;
};
type LibraryTransition = { target?: LibraryNode[]; guard?: unknown; actions: unknown[] };

const nameOf = (value: unknown): string | null => {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return value;
  if (typeof value === "object" && "type" in value && typeof value.type === "string") return value.type;
  return "inline";
};

/** The machine's definition as a tree, root first. */
export function definitionOf(machine: AnyStateMachine): StateNode {
  return view(machine.root as unknown as LibraryNode, null);
}

function view(node: LibraryNode, parent: StateNode | null): StateNode {
  const transitions: Transition[] = [];
  for (const [event, list] of node.transitions) {
    const configured = [node.config.on?.[event]].flat();
    list.forEach((t, i) => {
      const config = configured[i];
      const named = t.actions.filter((a) => typeof a !== "function").map((a) => nameOf(a) ?? "inline");
      const inline = t.actions.filter((a) => typeof a === "function").map((a) => String((a as { type?: unknown }).type ?? "closure"));
      transitions.push({
        event,
        targets: (t.target ?? []).map((n) => n.path.join(".")),
        guard: nameOf(typeof t.guard === "function" ? "inline" : t.guard),
        actions: named,
        inlineActions: inline,
        configKeys: typeof config === "object" && config !== null ? Object.keys(config) : [],
      });
    });
  }
  const initial = node.config.initial;
  const self: StateNode = {
    path: node.path.join("."),
    key: node.key,
    type: node.type,
    initial: typeof initial === "string" ? initial : null,
    parent,
    children: [],
    transitions,
    configKeys: Object.keys(node.config),
  };
  self.children = Object.values(node.states).map((child) => view(child, self));
  return self;
}

/** All nodes, parents before children. */
export function nodesOf(root: StateNode): StateNode[] {
  return [root, ...root.children.flatMap(nodesOf)];
}

/** States that a machine can rest in. */
export function leavesOf(root: StateNode): StateNode[] {
  return nodesOf(root).filter((n) => n.children.length === 0);
}

/** What an event may do in a leaf: its own transitions first, then its parents'. */
export function transitionsFor(leaf: StateNode, event: string): Transition[] {
  const found: Transition[] = [];
  for (let node: StateNode | null = leaf; node !== null; node = node.parent)
    found.push(...node.transitions.filter((t) => t.event === event));
  return found;
}
