import { TaskId, ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { TaskAnswer, TasksAnswer } from "../answers.ts";
import { count, flag, found } from "../input.ts";
import { listing, maxWaitMs, pageOf, placeOf, usualPage, usualWaitMs } from "../page.ts";
import { type Route, route } from "../route.ts";

export function taskRoutes(environment: Environment): Route[] {
  const { tasks } = environment;
  return [
    route({
      method: "GET",
      path: "/tasks",
      name: "listTasks",
      about: "tasks",
      summary: "Tasks (subagents that the environment owns), newest first unless asked otherwise.",
      access: "reads",
      query: { parent: ThreadId.optional(), open: flag.optional(), newestFirst: flag.optional(), ...listing, cursor: TaskId.optional() },
      answer: { kind: "json", schema: TasksAnswer },
      handle({ query: { parent, open, newestFirst = true, limit = usualPage, cursor } }) {
        const filter = { newestFirst, ...(parent !== undefined && { parent }), ...(open !== undefined && { open }) };
        const begin = placeOf(cursor, (id) => tasks.get(id as TaskId));
        const { records, next } = pageOf(limit, begin, (after, most) =>
          tasks.list({ ...filter, limit: most, ...(after !== undefined && { after: after.id }) }),
        );
        return { commit: environment.lastCommit, tasks: records, next };
      },
    }),
    route({
      method: "GET",
      path: "/tasks/:id",
      name: "getTask",
      about: "tasks",
      summary: "A task.",
      access: "reads",
      params: { id: TaskId },
      answer: { kind: "json", schema: TaskAnswer },
      refuses: ["task_not_found"],
      handle: ({ params: { id } }) => ({ commit: environment.lastCommit, task: found(tasks.get(id), "task", id) }),
    }),
    route({
      method: "GET",
      path: "/tasks/:id/wait",
      name: "waitForTask",
      about: "tasks",
      summary: "The task as soon as it has ended, or as it is when the time is up. Never cancels it.",
      access: "reads",
      params: { id: TaskId },
      query: { timeoutMs: count(maxWaitMs).optional() },
      answer: { kind: "json", schema: TaskAnswer },
      refuses: ["task_not_found"],
      async handle({ params: { id }, query: { timeoutMs = usualWaitMs } }) {
        found(tasks.get(id), "task", id);
        const task = await tasks.wait(id, { timeoutMs });
        return { commit: environment.lastCommit, task: found(task, "task", id) };
      },
    }),
  ];
}
