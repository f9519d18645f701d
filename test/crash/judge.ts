import type { EndState, SideAtEnd, ThreadAtEnd } from "./end-state.ts";
import { invariantFaults, isExcused } from "./invariants.ts";

/**
 * What is wrong with an end state, in words; nothing when it is the undisturbed one, save for runs that are honestly
 * interrupted and were sent again. `crashes`: how many there were; no more runs than that can have been interrupted.
 */
export function faultsOf(end: EndState, undisturbed: EndState, crashes: number): string[] {
  const faults: string[] = [];
  const interrupted = [end.laptop, end.box].flatMap((side) => side.threads.flatMap((t) => t.runs.filter((r) => isExcused(r.run))));
  if (interrupted.length > crashes) faults.push(`${interrupted.length} runs were interrupted by ${crashes} crashes`);
  for (const name of ["laptop", "box"] as const) {
    const side = end[name];
    faults.push(...[...invariantFaults(side), ...side.left].map((fault) => `${name}: ${fault}`));
    const expected = storyOf(undisturbed[name], undisturbed);
    const saw = withoutRepeats(storyOf(side, end), expected, side);
    for (const part of Object.keys(expected) as (keyof typeof expected)[])
      if (JSON.stringify(saw[part]) !== JSON.stringify(expected[part]))
        faults.push(`${name}: ${part} differ: ${JSON.stringify(saw[part])}, expected ${JSON.stringify(expected[part])}`);
  }
  return faults;
}

/** What is compared: the story that a side's store tells once honest interruptions are left out. */
function storyOf(side: SideAtEnd, whole: EndState) {
  const children = new Set(
    [whole.laptop, whole.box].flatMap((s) =>
      s.threads.filter((t) => t.role === "subagent" && t.runs.every((r) => isExcused(r.run))).map((t) => t.thread.id as string),
    ),
  );
  const cut = new Set(
    side.tasks
      .filter((t) => t.status === "interrupted" && t.childThreadId !== null && children.has(t.childThreadId))
      .map((t) => t.id as string),
  );
  const threads = side.threads.filter((t) => !children.has(t.thread.id));
  return {
    threads: threads.map((t) => [t.role, t.thread.title, t.thread.provider?.instance, t.thread.historyOrigin, t.thread.createdBy]),
    runs: threads.map((t) => [
      t.role,
      ...t.runs
        .filter((r) => !isExcused(r.run))
        .map(({ run, message, items }) => [message, run.status, run.provider?.instance, withoutHandoffs(items, cut.size)]),
    ]),
    bases: threads.map((t) => [t.role, baseOf(t, whole)]),
    handoffs: threads.map((t): [role: string, items: string[]] => [
      t.role,
      t.runs
        .flatMap((r) => r.items.filter((i) => i.startsWith("handoff")))
        .filter((i, at, all) => !(cut.size > 0 && i.includes("subagent_result") && all.indexOf(i) !== at)),
    ]),
    transfers: side.transfers
      .filter((t) => !children.has(t.transfer.targetThreadId) && !(t.transfer.taskId !== null && cut.has(t.transfer.taskId)))
      .map((t) => [t.transfer.type, t.role, ...t.statuses, t.transfer.resolution?.kind, t.transfer.outcome?.ending ?? null]),
    tasks: side.tasks.filter((t) => !cut.has(t.id)).map((t) => [t.title, t.status, t.results]),
  };
}

/**
 * Where nobody knows what a provider took, what it may lack is told again, in a switch of its own that the undisturbed story
 * does not have, or that replaces the one of the story.
 */
function withoutRepeats(saw: Story, expected: Story, side: SideAtEnd): Story {
  if (!side.threads.some((t) => t.runs.some((r) => r.run.error?.reason === "outcome_unknown"))) return saw;
  const only = <T>(wanted: readonly T[], isRepeat: (one: T) => boolean) => {
    const open = wanted.map((one) => JSON.stringify(one));
    return (one: T) => {
      const place = open.indexOf(JSON.stringify(one));
      if (place !== -1) open.splice(place, 1);
      return place !== -1 || !isRepeat(one);
    };
  };
  return {
    ...saw,
    transfers: saw.transfers.filter(only(expected.transfers, ([type]) => type === "provider_handoff")),
    handoffs: saw.handoffs.map(([role, items], at) => [
      role,
      items.filter(only(expected.handoffs[at]?.[1] ?? [], (item) => item === "handoff provider_handoff")),
    ]),
  };
}

type Story = ReturnType<typeof storyOf>;

/** Handoffs stand with the run that was told them, which may be one that is left out; they are compared apart. A subagent that was asked for again stands there twice. */
function withoutHandoffs(items: string[], cut: number): string[] {
  const own = items.filter((i) => !i.startsWith("handoff"));
  return cut === 0 ? own : own.filter((i, at) => !i.startsWith("subagent ") || own.indexOf(i) === at);
}

/** What stands before a thread's own runs: a fork's marker, subagents that were asked for, or what was imported. */
function baseOf({ base, role }: ThreadAtEnd, whole: EndState): string[] {
  if (role !== "imported") return base.filter((words, at) => !words.startsWith("subagent ") || base.indexOf(words) === at);
  const spoken = whole.laptop.threads
    .filter((t) => t.role === "main")
    .flatMap((t) => t.runs)
    .flatMap(({ run, items }) => items.map((words) => ({ words: words.replace(/ \(truncated\)$/, ""), excused: isExcused(run) })))
    .filter(({ words }) => /^(user|assistant)_message /.test(words))
    .slice(0, base.length);
  const same = JSON.stringify(spoken.map(({ words }) => words)) === JSON.stringify(base);
  return same ? spoken.filter(({ excused }) => !excused).map(({ words }) => words) : ["not what the laptop's conversation holds:", ...base];
}
