import type { ThreadLine } from "../../../schemas/environment-view.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { threadLine } from "./records.ts";

/** A thread's line of the list, with what its active run is doing. */
export function lineOf(environment: Environment, thread: AppThread, number: number): ThreadLine {
  const run = thread.activeRunId === null ? null : environment.runs.get(thread.activeRunId);
  return threadLine(thread, number, run?.status ?? null);
}
