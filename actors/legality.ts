import type { AnyStateMachine } from "xstate";
import { definitionOf, leavesOf, transitionsFor } from "./definition.ts";

/**
 * What an event does in a state: `accept` always, `guarded` only when a guard lets it (and else is ignored or refused),
 * `ignore` is declared to change nothing, `illegal` is refused. `targets` lists where it can lead; `(same)` where the state stays.
 */
type Cell = { verdict: "accept" | "guarded, else ignored" | "guarded, else refused" | "ignore" | "illegal"; targets: string[] };
export type LegalityTable = Record<string, Record<string, Cell>>;

/** The whole table, state by event, read off the machine itself. */
export function legalityTable(machine: AnyStateMachine, eventTypes: readonly string[]): LegalityTable {
  const table: LegalityTable = {};
  for (const leaf of leavesOf(definitionOf(machine))) {
    const row: Record<string, Cell> = {};
    for (const event of eventTypes) {
      const all = transitionsFor(leaf, event);
      const effective = all.filter((t) => t.targets.length + t.actions.length + t.inlineActions.length > 0);
      const targets = [...new Set(effective.flatMap((t) => (t.targets.length > 0 ? t.targets : ["(same)"])))];
      if (all.length === 0) row[event] = { verdict: "illegal", targets: [] };
      else if (effective.length === 0) row[event] = { verdict: "ignore", targets: [] };
      else if (effective.length < all.length) row[event] = { verdict: "guarded, else ignored", targets };
      else row[event] = { verdict: effective.some((t) => t.guard === null) ? "accept" : "guarded, else refused", targets };
    }
    table[leaf.path] = row;
  }
  return table;
}

/** The table as text, one line per cell that is not illegal: the golden file that a change of behaviour must touch. */
export function renderLegality(name: string, table: LegalityTable): string {
  const lines = [`# ${name}`];
  for (const [state, row] of Object.entries(table)) {
    lines.push("", `## ${state}`);
    const illegal: string[] = [];
    for (const [event, cell] of Object.entries(row)) {
      if (cell.verdict === "illegal") illegal.push(event);
      else lines.push(`- ${event}: ${cell.verdict}${cell.targets.length > 0 ? ` → ${cell.targets.join(" | ")}` : ""}`);
    }
    lines.push(`- illegal: ${illegal.length > 0 ? illegal.join(", ") : "none"}`);
  }
  return `${lines.join("\n")}\n`;
}
