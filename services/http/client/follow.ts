import type { ThreadId } from "../../../schemas/ids.ts";
import { EnvironmentUnreachable } from "./failures.ts";
import type { FeedLine } from "./feed-line.ts";
import type { Answered, Transport } from "./transport.ts";

export type FollowOptions = {
  after: number;
  thread?: ThreadId;
  signal?: AbortSignal;
  /** How long a feed that broke off is looked for again; default 10 s. */
  patienceMs?: number;
};

/** A feed that says nothing at all for this long, not even that it is alive, is taken for dead. */
export const silenceMs = 45_000;
export const retryMs = 200;

/**
 * The feed as objects, without end: when the connection breaks it goes on after the last commit that was told, so that
 * nothing is missed or told twice. Ends by `signal`, or with {@link EnvironmentUnreachable} when nobody listens any more.
 */
export async function* follow(
  transport: Transport,
  check: (answered: Answered) => Promise<void>,
  options: FollowOptions,
): AsyncGenerator<FeedLine> {
  const { signal, thread, patienceMs = 10_000 } = options;
  let after = options.after;
  let synchronized = false;
  let lost: number | null = null;
  while (signal?.aborted !== true) {
    try {
      const query = `after=${after}${thread === undefined ? "" : `&thread=${encodeURIComponent(thread)}`}`;
      const answered = await transport.call({ method: "GET", path: `/feed?${query}`, timeoutMs: silenceMs, signal }, true);
      await check(answered);
      lost = null;
      for await (const line of linesOf<FeedLine>(answered)) {
        if (line.type !== "progress") after = line.commit;
        if (line.type === "synchronized" && synchronized) continue;
        synchronized ||= line.type === "synchronized";
        yield line;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof EnvironmentUnreachable)) throw error;
      lost ??= performance.now();
      if (performance.now() - lost > patienceMs) throw error;
    }
    await pause(retryMs, signal);
  }
}

/** Whole lines only: what was cut off in the middle comes again. Ends quietly when the connection does. */
export async function* linesOf<L>(answered: Answered): AsyncGenerator<L> {
  let silence = setTimeout(answered.drop, silenceMs);
  // A line reader would give out the unfinished rest as a line; every line of the feed ends with its own newline.
  // The rest is kept in pieces: a large line comes in many, and none of them is to be looked through twice.
  let rest: string[] = [];
  try {
    for await (const chunk of answered.pieces()) {
      clearTimeout(silence);
      silence = setTimeout(answered.drop, silenceMs);
      const [first = "", ...more] = chunk.split("\n");
      rest.push(first);
      for (const next of more) {
        const line = rest.join("");
        rest = [next];
        if (line !== "") yield JSON.parse(line) as L;
      }
    }
  } finally {
    clearTimeout(silence);
    answered.drop();
  }
}

export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}
