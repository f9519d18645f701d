import type { Need } from "../../../schemas/need.ts";
import type { Run, RunStatus } from "../../../schemas/run.ts";
import type { Store } from "../ports/store.ts";
import { asRun, threadFrom } from "../typed-actors.ts";
import { inPages, lastEventAt } from "./pages.ts";

/** Steps that are a matter of seconds; a run that is under way has a lease of its own (decision 32). */
const stuckAfterMs = 10 * 60_000;
const steps = { preparing: "getting ready", starting: "starting", interrupting: "stopping" } as const satisfies Partial<
  Record<RunStatus, string>
>;

/** Runs that have been at one short step for far too long. */
export async function stuckRuns(store: Store, now: number): Promise<Need[]> {
  const needs: Need[] = [];
  for await (const rows of inPages(store, { kind: "run", statuses: Object.keys(steps) }))
    for (const run of rows.map(asRun)) {
      const since = lastEventAt(store, run.id) ?? run.createdAt;
      if (now - since >= stuckAfterMs) needs.push(needOf(store, run, since));
    }
  return needs;
}

function needOf(store: Store, { id, threadId, status }: Run, since: number): Need {
  const why = `it has been ${steps[status as keyof typeof steps]} since then`;
  return { kind: "stuck_run", about: id, threadId, title: threadFrom(store, threadId)?.title ?? "", since, why, act: ["stop", id] };
}
