import type { Chart, ChartState, ChartTransition } from "./chart.ts";

/** A chart as a Mermaid state diagram. Events are named without the kind that all of them begin with. */
export function renderMermaid(chart: Chart): string {
  const lines = ["stateDiagram-v2", ...statesIn(chart, null, chart.initial, "  ")];
  const arrows = new Map<string, Set<string>>();
  for (const transition of chart.transitions) {
    for (const to of transition.to.length > 0 ? transition.to : [transition.from]) {
      const arrow = `${idOf(transition.from)} --> ${idOf(to)}`;
      arrows.set(arrow, (arrows.get(arrow) ?? new Set()).add(label(chart, transition)));
    }
  }
  for (const [arrow, labels] of arrows) lines.push(`  ${arrow} : ${[...labels].join(", ")}`);
  for (const { path } of chart.states.filter((state) => state.isFinal)) lines.push(`  ${idOf(path)} --> [*]`);
  return `${lines.join("\n")}\n`;
}

function statesIn(chart: Chart, parent: string | null, initial: string | null, indent: string): string[] {
  const lines = initial === null ? [] : [`${indent}[*] --> ${idOf(parent === null ? initial : `${parent}.${initial}`)}`];
  for (const state of chart.states.filter((s) => s.parent === parent)) lines.push(...stateLines(chart, state, indent));
  return lines;
}

function stateLines(chart: Chart, { path, initial }: ChartState, indent: string): string[] {
  const key = path.slice(path.lastIndexOf(".") + 1);
  const named = `${indent}state "${key}" as ${idOf(path)}`;
  if (!chart.states.some((s) => s.parent === path)) return [named];
  return [named, `${indent}state ${idOf(path)} {`, ...statesIn(chart, path, initial, `${indent}  `), `${indent}}`];
}

/** Mermaid reads dots as something else. */
const idOf = (path: string) => path.replaceAll(".", "__");

function label(chart: Chart, { event, guard }: ChartTransition): string {
  const name = event.startsWith(`${chart.kind}.`) ? event.slice(chart.kind.length + 1) : event;
  return guard === null || guard === "inline" ? name : `${name} [${guard}]`;
}
