import { Worker } from "node:worker_threads";

/** Counts tokens (o200k) away from the main thread. */
export type TokenCounter = {
  /** Tokens of each text, in order. Special tokens in a text are counted as the plain text that they are. */
  count(texts: string[]): Promise<number[]>;
  /** Ends the worker, if one runs. What still waits for a count is rejected. A later count starts a new one. */
  close(): Promise<void>;
};

export type TokenCounterOptions = {
  /** An idle worker ends after this long and gives its memory (about 100 MB) back. Milliseconds; default 30,000. */
  idleMs?: number;
  /** Another worker, for tests of its failures. */
  workerUrl?: URL;
};

export type CountRequest = { id: number; texts: string[] };
export type CountReply = { id: number; counts: number[] } | { id: number; error: string };

type Waiting = { resolve: (counts: number[]) => void; reject: (cause: Error) => void };

/** A worker died under a count. One new try is made before a caller hears of it. */
class WorkerLost extends Error {
  override readonly name = "WorkerLost";
}

/**
 * The tokenizer is loaded by the first count, in a worker. The worker does not keep the process alive while it has nothing
 * to do, ends by itself when it is idle for a while, and is started anew after a failure.
 */
export function createTokenCounter(options: TokenCounterOptions = {}): TokenCounter {
  // From source it is a `.ts` file that Node strips, in a built package the `.js` beside this one.
  const url = options.workerUrl ?? new URL(import.meta.url.endsWith(".ts") ? "./token-worker.ts" : "./token-worker.js", import.meta.url);
  const idleMs = options.idleMs ?? 30_000;
  const waiting = new Map<number, Waiting>();
  let worker: Worker | null = null;
  let idle: NodeJS.Timeout | null = null;
  let lastId = 0;

  function start(): Worker {
    // Flags of the caller's command line (`--eval` and its like) are not for a worker.
    const started = new Worker(url, { execArgv: [] });
    const lost = (cause: Error) => {
      if (worker === started) worker = null;
      // Requests belong to the one worker that there is; a later one has none of these.
      for (const { reject } of waiting.values()) reject(cause);
      waiting.clear();
    };
    started.on("message", (reply: CountReply) => {
      const { id } = reply;
      const request = waiting.get(id);
      waiting.delete(id);
      if (waiting.size === 0) rest(started);
      if ("counts" in reply) request?.resolve(reply.counts);
      else request?.reject(new Error(reply.error));
    });
    started.on("error", (cause) => {
      if (worker === started) lost(new WorkerLost("the token counter's worker failed", { cause }));
    });
    started.on("exit", () => {
      if (worker === started) lost(new WorkerLost("the token counter's worker ended"));
    });
    return started;
  }

  function rest(from: Worker): void {
    from.unref();
    idle = setTimeout(() => {
      if (worker === from && waiting.size === 0) void stop();
    }, idleMs);
    idle.unref();
  }

  async function stop(): Promise<void> {
    const stopped = worker;
    worker = null;
    if (idle) clearTimeout(idle);
    for (const { reject } of waiting.values()) reject(new Error("the token counter was closed"));
    waiting.clear();
    await stopped?.terminate();
  }

  function ask(texts: string[]): Promise<number[]> {
    return new Promise((resolve, reject) => {
      if (idle) clearTimeout(idle);
      worker ??= start();
      worker.ref();
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      worker.postMessage({ id: lastId, texts } satisfies CountRequest);
    });
  }

  return {
    async count(texts) {
      if (texts.length === 0) return [];
      try {
        return await ask(texts);
      } catch (cause) {
        if (cause instanceof WorkerLost) return ask(texts);
        throw cause;
      }
    },
    close: stop,
  };
}
