import type { ActorId, RunId, ThreadId } from "../../schemas/ids.ts";
import type { Environment } from "../runtime/environment-api.ts";
import type { FeedLine } from "./client/feed-line.ts";
import { readCommits } from "./commits.ts";
import { concerns } from "./concerns.ts";

export type FeedOptions = {
  /** Changes of later commits are told. */
  after: number;
  /** Only what concerns one thread, and the unfinished text of its active run. */
  thread?: ThreadId | undefined;
  heartbeatMs: number;
  /** How often unfinished text is looked at. */
  progressMs: number;
  /** Ends the feed. */
  signal: AbortSignal;
};

const changesAtOnce = 500;

/**
 * Committed changes as lines of JSON, then whatever is committed from then on, without end. Nothing is buffered for a slow
 * reader: a commit only wakes the feed, and what to tell is always read from the store, after what was told last.
 */
export function feedStream(environment: Environment, options: FeedOptions): ReadableStream<Uint8Array> {
  const { signal, thread, heartbeatMs, progressMs } = options;
  const encoder = new TextEncoder();
  const progress = new ProgressReader(environment, thread);
  const relevant = thread === undefined ? null : concerns(environment, thread);
  let cursor = options.after;
  let synchronized = false;
  let ended = false;
  let wake: (() => void) | null = null;
  const unsubscribe = environment.subscribe(() => wake?.());
  const end = () => {
    ended = true;
    unsubscribe();
    signal.removeEventListener("abort", end);
    wake?.();
  };
  signal.addEventListener("abort", end);
  if (signal.aborted) end();

  /** What there is to tell now; empty when nothing is new. */
  function next(): FeedLine[] {
    const lines: FeedLine[] = [];
    const page = readCommits(environment, cursor, changesAtOnce);
    cursor = page.through;
    for (const { commit, changes } of page.commits) {
      const chosen = relevant === null ? changes : changes.filter(relevant);
      if (chosen.length > 0) lines.push({ type: "commit", commit, changes: chosen });
    }
    if (cursor < environment.lastCommit) return lines;
    if (!synchronized) lines.push({ type: "synchronized", commit: cursor });
    synchronized = true;
    return [...lines, ...progress.read()];
  }

  function rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      function done() {
        clearTimeout(timer);
        wake = null;
        resolve();
      }
      wake = done;
    });
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let lines: FeedLine[] = [];
        const beat = performance.now() + heartbeatMs;
        while (!ended) {
          lines = next();
          if (lines.length > 0) break;
          if (cursor < environment.lastCommit) {
            // Much is passed over for this thread: others get their turn in between.
            await new Promise((resolve) => setImmediate(resolve));
            continue;
          }
          const left = beat - performance.now();
          if (left <= 0) {
            lines = [{ type: "heartbeat", commit: cursor }];
            break;
          }
          await rest(progress.isLive ? Math.min(left, progressMs) : left);
        }
        if (ended) return controller.close();
        controller.enqueue(encoder.encode(lines.map((line) => `${JSON.stringify(line)}\n`).join("")));
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** The unfinished text of a thread's active run, each time it has changed. */
class ProgressReader {
  readonly #environment: Environment;
  readonly #thread: ThreadId | undefined;
  #last: { runId: ActorId; text: string } | null = null;

  constructor(environment: Environment, thread: ThreadId | undefined) {
    this.#environment = environment;
    this.#thread = thread;
  }

  #activeRun(): RunId | null {
    return this.#thread === undefined ? null : (this.#environment.threads.get(this.#thread)?.activeRunId ?? null);
  }

  get isLive(): boolean {
    return this.#activeRun() !== null;
  }

  read(): FeedLine[] {
    const runId = this.#activeRun();
    if (runId === null) return [];
    const text = this.#environment.runs.progress(runId);
    if (text === null || text === "" || (this.#last?.runId === runId && this.#last.text === text)) return [];
    this.#last = { runId, text };
    return [{ type: "progress", runId, text }];
  }
}
