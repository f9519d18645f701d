import { Command } from "commander";
import type { Task } from "../../../schemas/task.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { shortIds } from "../short-ids.ts";
import { facts, table } from "../table.ts";
import { awaitTask } from "../task-outcome.ts";
import { oneLine, style } from "../terminal.ts";
import { ago, duration } from "../time.ts";
import { taskWords } from "../words.ts";

const reference = ["<task>", "id, a unique beginning of it, or @last"] as const;

export function taskCommand(): Command {
  const command = new Command("task").description("what subagents were given to do");
  command
    .command("list")
    .description("tasks, newest first")
    .option("--parent <thread>", "only those of one thread")
    .option("--open", "only those that have not ended")
    .action(
      online<{ parent?: string; open?: boolean }>(async (shell, client, { options }) => {
        const parent = options.parent === undefined ? undefined : await resolve(client, "thread", options.parent);
        const { commit, tasks } = await client.tasks({
          ...(parent !== undefined && { parent }),
          ...(options.open === true && { open: true }),
        });
        shell.answer({ commit, tasks }, () => (tasks.length === 0 ? "no tasks" : listed(tasks)));
        return undefined;
      }),
    );
  command
    .command("show")
    .description("one task")
    .argument(...reference)
    .action(
      online(async (shell, client, { args: [ref] }) => {
        const answer = await client.task(await resolve(client, "task", ref));
        shell.answer(answer, () => told(answer.task));
        return undefined;
      }),
    );
  command
    .command("wait")
    .description("wait for a task and print its result; waiting never cancels it")
    .argument(...reference)
    .option("--timeout <duration>", "how long, like 90s or 5m (exit code 5 then)")
    .action(
      online<{ timeout?: string }>(async (shell, client, { args: [ref], options }) => {
        const timeoutMs = options.timeout === undefined ? null : duration(options.timeout);
        const taskId = await resolve(client, "task", ref);
        return awaitTask(shell, client, taskId, timeoutMs, { taskId });
      }),
    );
  for (const [name, description, said] of [
    ["cancel", "stop a task and what it has spawned itself", "cancelling"],
    ["dismiss", "give a task up whose machine is gone; what it still answers is kept and shown, not told", "dismissed"],
  ] as const) {
    command
      .command(name)
      .description(description)
      .argument(...reference)
      .option("--reason <text>", "what is noted as the reason")
      .action(
        online<{ reason?: string }>(async (shell, client, { args: [ref], options }) => {
          const taskId = await resolve(client, "task", ref);
          const reason = options.reason === undefined ? {} : { reason: options.reason };
          const { result, commit, repeated } = await client.command({ type: `task.${name}`, taskId, ...reason }, shell.commandId());
          shell.answer({ ...result, commit, repeated }, () => said);
          return undefined;
        }),
      );
  }
  return command;
}

function listed(tasks: readonly Task[]): string {
  const short = shortIds(tasks.map((t) => t.id));
  return table(
    tasks.map((t) => [
      oneLine(t.title),
      style("dim", short.get(t.id) ?? t.id),
      taskWords(t),
      t.childEnvironmentId ?? "here",
      ago(t.createdAt),
    ]),
  );
}

function told(task: Task): string {
  return facts([
    ["task", `${style("bold", oneLine(task.title))} (${task.id})`],
    ["status", taskWords(task)],
    ["for", task.parentThreadId],
    ["runs at", task.childEnvironmentId ?? "this environment"],
    task.childThreadId === null ? null : ["its thread", task.childThreadId],
    ["given by", task.spawnedBy === "user" ? "you" : "the agent"],
    ["made", ago(task.createdAt)],
    task.endedAt === null ? null : ["ended", ago(task.endedAt)],
    task.reason === null ? null : ["reason", oneLine(task.reason)],
    ["results", String(task.results)],
    task.lateAnswers.length === 0 ? null : ["too late", `${task.lateAnswers.length} answers after it was given up`],
  ]);
}
