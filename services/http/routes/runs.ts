import { z } from "zod";
import { RunId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { RunAnswer, RunWaitAnswer } from "../answers.ts";
import { count, found } from "../input.ts";
import { maxWaitMs, usualWaitMs } from "../page.ts";
import { type Route, route } from "../route.ts";

export function runRoutes(environment: Environment): Route[] {
  const { runs } = environment;
  return [
    route({
      method: "GET",
      path: "/runs/:id",
      name: "getRun",
      about: "runs",
      summary: "A run, and its unfinished text while it is under way.",
      access: "reads",
      params: { id: RunId },
      answer: { kind: "json", schema: RunAnswer },
      refuses: ["run_not_found"],
      handle: ({ params: { id } }) => ({
        commit: environment.lastCommit,
        run: found(runs.get(id), "run", id),
        progress: runs.progress(id),
      }),
    }),
    route({
      method: "GET",
      path: "/runs/:id/wait",
      name: "waitForRun",
      about: "runs",
      summary: "The run as soon as it has ended or waits for an answer, or as it is when the time is up. Never cancels it.",
      access: "reads",
      params: { id: RunId },
      query: { timeoutMs: count(maxWaitMs).optional(), until: z.enum(["ended", "ended_or_waiting"]).optional() },
      answer: { kind: "json", schema: RunWaitAnswer },
      refuses: ["run_not_found"],
      async handle({ params: { id }, query: { timeoutMs = usualWaitMs, until = "ended_or_waiting" } }) {
        found(runs.get(id), "run", id);
        const run = await runs.wait(id, { timeoutMs, until });
        return { commit: environment.lastCommit, run: found(run, "run", id) };
      },
    }),
  ];
}
