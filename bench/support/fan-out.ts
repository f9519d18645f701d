import type { EnvironmentId, RunId, TaskId } from "../../schemas/ids.ts";
import type { Environment } from "../../services/runtime/environment-api.ts";
import { turns } from "./environment.ts";
import type { Given, InstantProvider } from "./instant-provider.ts";

export type FanOut = { totalMs: number; childrenMs: number; collectMs: number; cpuMs: number };

/**
 * A parent's agent spawns `count` children in one turn and waits for them; each is a full child (task, thread, run, spawn
 * transfer, one item, result transfer). The turn ends, and the parent's next run, which the results start, is told all of
 * them. Timed from the first spawn to that run's end, everything committed.
 */
export async function fanOut(environment: Environment, provider: InstantProvider, count: number, at?: EnvironmentId): Promise<FanOut> {
  const { threadId } = await environment.send({ type: "thread.create", title: "parent" });
  let told: Given | null = null;
  let asked: (given: Given) => void = () => {};
  const parentAsked = new Promise<Given>((resolve) => {
    asked = resolve;
  });
  let heard: (given: Given) => void = () => {};
  const parentTold = new Promise<Given>((resolve) => {
    heard = resolve;
  });
  provider.answer = (given) => {
    if (given.threadId !== threadId) return true;
    if (told === null) asked(given);
    else heard(given);
    const first = told === null;
    told = given;
    return !first;
  };
  const { runId } = await environment.send({ type: "thread.send", threadId, text: "Look at every part." });
  const parent = await parentAsked;
  await turns("the parent's run", () => environment.runs.get(runId)?.status === "running");

  const cpu = process.cpuUsage();
  const began = performance.now();
  const caller = { kind: "thread", threadId, runId } as const;
  const where = at === undefined ? {} : { environmentId: at };
  const spawned = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      environment.dispatch(
        { type: "task.spawn", parentThreadId: threadId, prompt: `Look at part ${i + 1} and say what is wrong with it.`, ...where },
        { caller },
      ),
    ),
  );
  const refused = spawned.find((receipt) => !receipt.ok);
  if (refused !== undefined) throw new Error(JSON.stringify(refused));
  const tasks = await Promise.all(spawned.map((receipt) => environment.tasks.wait((receipt.ok ? receipt.result.taskId : "") as TaskId)));
  const children = performance.now();
  provider.complete(parent);
  const collecting = await parentTold;
  const last = await environment.runs.wait(collecting.input.runId as RunId);
  const ended = performance.now();
  const { user, system } = process.cpuUsage(cpu);
  const results = collecting.input.context.length;
  if (results !== count || last?.status !== "completed" || tasks.some((task) => task?.status !== "completed"))
    throw new Error(`the parent was told ${results} of ${count} results, its run is ${last?.status}`);
  return { totalMs: ended - began, childrenMs: children - began, collectMs: ended - children, cpuMs: (user + system) / 1_000 };
}
