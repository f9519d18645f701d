import { isEndedRun, type Run } from "../../schemas/run.ts";
import { isEndedTask } from "../../schemas/task.ts";
import { mayRepeatNote } from "../../services/context/headers.ts";
import type { SideAtEnd } from "./end-state.ts";

/** Reasons that an honest run gives for having been interrupted by a crash. */
const honest = ["environment_stopped", "outcome_unknown"];

export function isExcused(run: Run): boolean {
  return run.status === "interrupted" && run.error !== null && honest.includes(run.error.reason);
}

/** What must hold in itself, whatever happened. */
export function invariantFaults({ threads, transfers, tasks, inputs }: SideAtEnd): string[] {
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
