import type { EnvironmentId } from "../../schemas/ids.ts";
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
  let [answered, told] = [0, -1];
  let asked: (given: Given) => void = () => {};
  const parentAsked = new Promise<Given>((resolve) => {
    asked = resolve;
  });
  provider.answer = (given) => {
    if (given.threadId !== threadId) {
      answered += 1;
      return true;
    }
    if (told >= 0) {
      told = given.input.context.length;
      return true;
    }
    told = 0;
    asked(given);
    return false;
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
  await turns("the children", () => answered === count || at !== undefined);
  await turns("the results", () => environment.tasks.list({ parent: threadId, open: true, limit: 1 }).length === 0);
  const children = performance.now();
  provider.complete(parent);
  await turns("the collecting run", () => told > 0);
  await turns("its end", () => environment.threads.get(threadId)?.activeRunId === null);
  const ended = performance.now();
  const { user, system } = process.cpuUsage(cpu);
  if (told !== count) throw new Error(`the parent was told ${told} of ${count} results`);
  return { totalMs: ended - began, childrenMs: children - began, collectMs: ended - children, cpuMs: (user + system) / 1_000 };
}
