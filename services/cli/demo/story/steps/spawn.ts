import type { Task } from "../../../../../schemas/task.ts";
import type { ContextTransfer } from "../../../../../schemas/transfer.ts";
import { check, same } from "../check.ts";
import { statusesOf } from "../history.ts";
import { say } from "../say.ts";
import type { Side } from "../stage.ts";
import { type Memory, need, needBox, type Step } from "../step.ts";

const maxTries = 5;

async function resultsOf(laptop: Side, memory: Memory): Promise<ContextTransfer[]> {
  const all = await laptop.transfersTo(need(memory, "main"));
  return all.filter((t) => t.type === "subagent_result" && t.taskId === memory.taskId);
}

const resultText = (transfer: ContextTransfer | undefined): string =>
  transfer?.content != null && "text" in transfer.content ? transfer.content.text : "";

/** A subagent on the other machine: it is given its task and nothing of the parent, and its result comes home. */
export const spawn: Step = {
  id: "spawn",
  title: "A subagent is spawned on the box, and its result comes home",
  needsBox: true,
  async take(stage, memory, words) {
    const { laptop } = stage;
    const box = needBox(stage);
    const parentThreadId = need(memory, "main");
    let task: Task | null = null;
    // A child that was interrupted has given its result; whoever wants the work done asks again.
    for (let tries = 0; tries < maxTries && (task === null || task.status === "interrupted"); tries += 1) {
      const command = {
        type: "task.spawn",
        parentThreadId,
        prompt: words.task,
        title: words.taskTitle,
        environmentId: box.environmentId,
      } as const;
      const { taskId } = await laptop.send(command, tries === 0 ? "spawn" : `spawn.again-${tries}`);
      task = await laptop.taskEnded(taskId);
    }
    if (task === null || task.childThreadId === null)
      return { facts: { task }, checks: [check("the box took the task", false, task?.error)], says: [] };
    memory.taskId = task.id;
    memory.child = task.childThreadId;
    const child = await box.thread(task.childThreadId);
    const runs = await box.runs(child.id);
    const given = runs[0] === undefined ? null : await box.given(runs[0]);
    const results = await resultsOf(laptop, memory);
    return {
      facts: {
        taskId: task.id,
        status: task.status,
        environmentId: task.childEnvironmentId,
        childThreadId: child.id,
        given: { context: given?.context, message: given?.message },
        results: results.length,
        resultTransferId: results[0]?.id,
        resultStatus: results[0]?.status,
      },
      checks: [
        same("the task completed", task.status, "completed"),
        same("its child ran on the box, once", [task.childEnvironmentId, runs.map((r) => r.status)], [box.environmentId, ["completed"]]),
        same(
          "it knows its parent",
          [child.lineage.parentThreadId, child.lineage.parentEnvironmentId],
          [parentThreadId, laptop.environmentId],
        ),
        same("it was given exactly its task", [given?.context, given?.message], [[], words.task]),
        same(
          "one result is there, and waits for the conversation's next message",
          results.map((r) => r.status),
          ["pending"],
        ),
      ],
      says: [`task: ${words.task}`, `result: ${resultText(results[0])}`],
    };
  },
};

/** The result goes with the parent's next message, once. */
export const result: Step = {
  id: "result",
  title: "The conversation's next message brings the result",
  needsBox: true,
  async take({ laptop, answersAreScripted }, memory, words) {
    const said = await say(laptop, need(memory, "main"), words.reported, "reported");
    const results = await resultsOf(laptop, memory);
    const view = results[0] === undefined ? null : await laptop.transfer(results[0].id);
    const consumer = said.runs.find((run) => run.id === view?.transfer.consumedByRunId);
    const given = consumer === undefined ? null : await laptop.given(consumer);
    const payload = view?.handoffs[0]?.payload ?? "";
    return {
      facts: {
        taskId: memory.taskId,
        results: results.length,
        transferId: view?.transfer.id,
        history: statusesOf(view?.history ?? []),
        told: given?.context,
        answer: said.answer,
      },
      checks: [
        same("the run completed", said.last.status, "completed"),
        same("there is exactly one result", results.length, 1),
        same("it was delivered", statusesOf(view?.history ?? []), ["pending", "resolved_portable", "consumed"]),
        check("it tells what the subagent said", payload.includes(words.report), payload),
        check("the provider was given it, once", given?.context.filter((text) => text === payload).length === 1, given?.context),
        check("the answer is the report", !answersAreScripted || said.answer === words.report, said.answer),
      ],
      says: said.lines,
    };
  },
};
