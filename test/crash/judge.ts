import { isEndedRun, type Run } from "../../schemas/run.ts";
import { isEndedTask } from "../../schemas/task.ts";
import { mayRepeatNote } from "../../services/context/headers.ts";
import type { EndState, RunAtEnd, SideAtEnd, ThreadAtEnd } from "./end-state.ts";

/** Reasons that an honest run gives for having been interrupted by a crash. */
const honest = ["environment_stopped", "outcome_unknown"];

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

function isExcused(run: Run): boolean {
  return run.status === "interrupted" && run.error !== null && honest.includes(run.error.reason);
}

/** What must hold in itself, whatever happened. */
function invariantFaults({ threads, transfers, tasks, inputs }: SideAtEnd): string[] {
  const faults: string[] = [];
  for (const { thread, role, runs } of threads) {
    if (thread.status !== "idle") faults.push(`${role} is ${thread.status}`);
    for (const { run, message } of runs) {
      const name = `${role}'s run ${run.ordinal} ("${message}")`;
      if (!isEndedRun(run.status)) faults.push(`${name} is ${run.status}`);
      if (run.status !== "completed" && !isExcused(run)) faults.push(`${name} is ${run.status}: ${JSON.stringify(run.error)}`);
      const given = inputs.filter((input) => input.runId === run.id);
      if (run.status === "completed" && given.length !== 1) faults.push(`${name} was given ${given.length} times`);
      if (given.length > 1) faults.push(`${name} was given ${given.length} times to the provider`);
      if (given.some((input) => input.message !== message)) faults.push(`${name} was given other words: ${given[0]?.message}`);
    }
  }
  const known = new Set(threads.flatMap((t) => t.runs.map((r) => r.run.id as string)));
  for (const input of inputs)
    if (!known.has(input.runId)) faults.push(`a provider was given "${input.message}" for a run that is not there`);

  const unknown = new Set(
    threads.flatMap((t) => t.runs.filter((r) => r.run.error?.reason === "outcome_unknown").map((r) => r.run.id as string)),
  );
  const over = new Set(
    threads.filter((t) => t.role === "subagent" && t.runs.every((r) => isExcused(r.run))).map((t) => t.thread.id as string),
  );
  for (const { transfer, role, payloads } of transfers) {
    // What was replaced is over. So is a child that did not get to its end: what it was to be told may stay as it is.
    if (transfer.status === "superseded" && transfer.supersededBy !== null) continue;
    if (over.has(transfer.targetThreadId)) continue;
    if (transfer.status !== "consumed") faults.push(`${transfer.type} to ${role} is ${transfer.status}`);
    if (transfer.claim !== null) faults.push(`${transfer.type} to ${role} is still claimed`);
    const isMessage = transfer.type === "subagent_spawn";
    if (isMessage || transfer.resolution?.kind === "native_fork") continue;
    const told = inputs.filter((input) => input.context.some((text) => payloads.includes(text)));
    if (!told.some((input) => input.runId === transfer.consumedByRunId))
      faults.push(`${transfer.type} to ${role} was consumed by a run that was not told it`);
    // Told at least once: again only where nobody can know whether the first time was heard, and then marked as such.
    const again = told.filter((input) => !unknown.has(input.runId));
    if (again.length > 1) faults.push(`${transfer.type} to ${role} was told ${again.length} times`);
    if (told.length > again.length && !again.some((input) => input.context[0] === mayRepeatNote))
      faults.push(`${transfer.type} to ${role} was told again without a word that it may be a repeat`);
  }
  for (const task of tasks) {
    const results = transfers.filter((t) => t.transfer.type === "subagent_result" && t.transfer.taskId === task.id);
    if (!isEndedTask(task.status)) faults.push(`task "${task.title}" is ${task.status}`);
    if (results.length !== 1 || task.results !== 1)
      faults.push(`task "${task.title}" has ${results.length} results, and counts ${task.results}`);
    if (task.lateAnswers.length > 0) faults.push(`task "${task.title}" has late answers`);
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
  const repeated = whole.laptop.threads
    .filter((t) => t.role === "main")
    .flatMap((t) => t.runs.filter((r) => isExcused(r.run)).flatMap((r) => r.items));
  return {
    threads: threads.map((t) => [t.role, t.thread.title, t.thread.provider?.instance, t.thread.historyOrigin, t.thread.createdBy]),
    runs: threads.map((t) => [
      t.role,
      ...t.runs
        .filter((r) => !isExcused(r.run))
        .map(({ run, message, items }) => [message, run.status, run.provider?.instance, withoutHandoffs(items, cut.size)]),
    ]),
    bases: threads.map((t) => [t.role, baseOf(t, t.role === "imported" ? repeated : [])]),
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

/** What stands before a thread's own runs: nothing but a fork's marker and subagents asked for, or what was imported. */
function baseOf({ base }: ThreadAtEnd, repeated: readonly string[]): string[] {
  const rest = [...repeated];
  return base.filter((words, at) => {
    // A message that was interrupted and sent again stands twice in the source, and so in what was imported.
    const place = rest.indexOf(words);
    if (place !== -1 && base.indexOf(words) !== at) rest.splice(place, 1);
    else return !(words.startsWith("subagent ") && base.indexOf(words) !== at);
    return false;
  });
}

/** For a failed test: every run as it went. */
export function runsInWords(runs: readonly RunAtEnd[]): string {
  return runs.map(({ run, message }) => `${run.ordinal} ${run.status} ${message}`).join("\n");
}
