import type { RunId, ThreadId } from "../../schemas/ids.ts";
import type { TurnItem } from "../../schemas/item.ts";
import type { Run, RunStatus } from "../../schemas/run.ts";
import type { FeedLine } from "../http/client/feed-line.ts";
import type { LocalClient } from "../http/client.ts";
import { untilInterrupted } from "./interrupt.ts";
import { Progress } from "./progress.ts";
import { runWords } from "./words.ts";

export type Followed = {
  run: Run;
  /** What it produced, in order. */
  items: TurnItem[];
  /** Why following ended: the run did, it waits for a person, the time was up, or Ctrl-C. */
  end: "ended" | "waiting" | "timeout" | "interrupted";
};

export type RunListener = {
  onItem(item: TurnItem): void;
  /** All of the unfinished text so far. */
  onProgress(text: string): void;
  /** Whether it has left a line unfinished, on which nothing else may be written. */
  readonly isMidLine: boolean;
};

/** Spelled out here, since the schemas are a third of what a command would load. */
const ended: ReadonlySet<RunStatus> = new Set(["completed", "failed", "interrupted", "rolled_back"]);

/** Follows a run until it has ended or waits for a person. `after` is a commit before which nothing of it happened. */
export async function followRun(
  client: LocalClient,
  what: { threadId: ThreadId; runId: RunId; after: number; timeoutMs: number | null },
  listener: RunListener,
  progress: Progress = new Progress("waiting for the answer"),
): Promise<Followed> {
  const items: TurnItem[] = [];
  let end: Followed["end"] = "timeout";
  const { interrupted } = await untilInterrupted(async (interrupt) => {
    const signal = what.timeoutMs === null ? interrupt : AbortSignal.any([interrupt, AbortSignal.timeout(what.timeoutMs)]);
    for await (const line of client.feed({ after: what.after, thread: what.threadId, signal })) {
      const status = read(line);
      if (status === null) continue;
      if (!ended.has(status) && status !== "waiting") progress.text = `the run is ${runWords({ status, error: null })}`;
      else if (await isSo(status)) return;
    }
  });
  progress.done();
  if (interrupted) end = "interrupted";
  return { run: (await client.run(what.runId)).run, items, end };

  /** Passes on what a line says of the run; returns the status that it has then. */
  function read(line: FeedLine): RunStatus | null {
    let status: RunStatus | null = null;
    if (line.type === "progress" && line.runId === what.runId) tell(() => listener.onProgress(line.text));
    if (line.type !== "commit") return null;
    for (const change of line.changes) {
      if (change.type === "actor") {
        if (change.actorId === what.runId) status = change.to.split(".")[0] as RunStatus;
      } else if (change.item.runId === what.runId) {
        items.push(change.item);
        tell(() => listener.onItem(change.item));
      }
    }
    return status;
  }

  /** A feed from far back also tells of waits that are over. */
  async function isSo(status: RunStatus): Promise<boolean> {
    if (status === "waiting" && (await client.run(what.runId)).run.status !== "waiting") return false;
    end = ended.has(status) ? "ended" : "waiting";
    return true;
  }

  function tell(say: () => void): void {
    progress.hide();
    say();
    if (!listener.isMidLine) progress.show();
  }
}
