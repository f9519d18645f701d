import type { Environment } from "../../runtime/environment-api.ts";
import { breathe } from "./bounds.ts";
import { type Encoding, type LineEncoder, lineEncoder } from "./encoding.ts";

/** One view's changes: what is there to tell now, whatever it was in between. */
export type LiveSource = {
  /** Everything up to this commit has been told. */
  readonly commit: number;
  /** Whether something may change that no commit tells of. */
  readonly isWriting: boolean;
  /** Looks at what has been committed, a slice at a time, until it says `all`. */
  step(): "all" | "more" | "behind";
  /** The patch to where `step` has come; null when nothing of it concerns the view. */
  patch(): object | "behind" | null;
};

export type LiveSettings = {
  heartbeatMs: number;
  /** What changes within this time after a patch goes together with the next one. */
  coalesceMs: number;
  /** Ends the connection. */
  signal: AbortSignal;
};

/**
 * A live connection: patches after what the client has, then `synchronized`, then a patch whenever something has changed.
 * The first change after quiet goes at once, what follows within a moment goes together. Nothing is buffered for a slow
 * client: a commit only wakes the connection, and the next patch is read from the store when the last one is off; when that
 * would be too much, the client is told to read a snapshot again, and the connection ends.
 */
export function liveStream(
  environment: Environment,
  source: LiveSource,
  encoding: Encoding,
  settings: LiveSettings,
): ReadableStream<Uint8Array> {
  // Made when it is first read: a body that nobody reads (of a HEAD) holds nothing.
  let live: { lines: LiveLines; encoder: LineEncoder } | null = null;
  const end = () => {
    live?.lines.end();
    live?.encoder.close();
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        live ??= { lines: new LiveLines(environment, source, settings), encoder: lineEncoder(encoding) };
        const { lines, encoder } = live;
        try {
          const next = await lines.next();
          if (next.length > 0) controller.enqueue(await encoder.encode(next.map((line) => `${JSON.stringify(line)}\n`).join("")));
          if (!lines.ended) return;
          const last = await encoder.end();
          if (last.length > 0) controller.enqueue(last);
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** A text that is being written is not looked at more often than this, however small the window. */
const shortestLookMs = 20;

class LiveLines {
  ended = false;
  readonly #environment: Environment;
  readonly #source: LiveSource;
  readonly #settings: LiveSettings;
  readonly #unsubscribe: () => void;
  #synchronized = false;
  #patchedAt = Number.NEGATIVE_INFINITY;
  #onCommit: (() => void) | null = null;
  #onEnd: (() => void) | null = null;

  constructor(environment: Environment, source: LiveSource, settings: LiveSettings) {
    this.#environment = environment;
    this.#source = source;
    this.#settings = settings;
    this.#unsubscribe = environment.sync.onCommit(() => this.#onCommit?.());
    settings.signal.addEventListener("abort", this.end);
    if (settings.signal.aborted) this.end();
  }

  end = (): void => {
    if (this.ended) return;
    this.ended = true;
    this.#unsubscribe();
    this.#settings.signal.removeEventListener("abort", this.end);
    this.#onEnd?.();
  };

  /** What there is to tell next, waited for; nothing once it has ended. */
  async next(): Promise<object[]> {
    const beat = performance.now() + this.#settings.heartbeatMs;
    while (!this.ended) {
      const patch = await this.#patch();
      if (patch === "behind") {
        this.end();
        return [{ type: "resnapshot", commit: this.#environment.lastCommit }];
      }
      const lines = patch === null ? [] : [{ type: "patch", ...patch }];
      if (!this.#synchronized) {
        this.#synchronized = true;
        return [...lines, { type: "synchronized", commit: this.#source.commit }];
      }
      if (patch !== null) {
        this.#patchedAt = performance.now();
        return lines;
      }
      if (performance.now() >= beat) return [{ type: "heartbeat", commit: this.#source.commit }];
      await this.#rest(beat);
    }
    return [];
  }

  async #patch(): Promise<object | "behind" | null> {
    for (let step = this.#source.step(); step !== "all"; step = this.#source.step()) {
      if (step === "behind") return "behind";
      await breathe();
      if (this.ended) return null;
    }
    return this.#source.patch();
  }

  /** Until something may have changed, and it is not too soon after the last patch. */
  async #rest(beat: number): Promise<void> {
    const { coalesceMs } = this.#settings;
    const until = this.#source.isWriting ? Math.min(beat, performance.now() + Math.max(coalesceMs, shortestLookMs)) : beat;
    await this.#sleep(until, true);
    await this.#sleep(Math.min(this.#patchedAt + coalesceMs, beat), false);
  }

  #sleep(until: number, untilCommit: boolean): Promise<void> {
    const ms = until - performance.now();
    const isTold = untilCommit && this.#source.commit < this.#environment.lastCommit;
    if (ms <= 0 || isTold || this.ended) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#onCommit = null;
        this.#onEnd = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#onEnd = done;
      if (untilCommit) this.#onCommit = done;
    });
  }
}
