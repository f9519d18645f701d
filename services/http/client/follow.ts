import type { IncomingMessage } from "node:http";
import type { ThreadId } from "../../../schemas/ids.ts";
import { EnvironmentUnreachable } from "./failures.ts";
import type { FeedLine } from "./feed-line.ts";
import { call, type Target } from "./request.ts";

export type FollowOptions = {
  after: number;
  thread?: ThreadId;
  signal?: AbortSignal;
  /** How long a feed that broke off is looked for again; default 10 s. */
  patienceMs?: number;
};

/** A feed that says nothing at all for this long, not even that it is alive, is taken for dead. */
const silenceMs = 45_000;
const retryMs = 200;

/**
 * The feed as objects, without end: when the connection breaks it goes on after the last commit that was told, so that
 * nothing is missed or told twice. Ends by `signal`, or with {@link EnvironmentUnreachable} when nobody listens any more.
 */
export async function* follow(
  target: Target,
  check: (incoming: IncomingMessage) => Promise<void>,
  options: FollowOptions,
): AsyncGenerator<FeedLine> {
  const { signal, thread, patienceMs = 10_000 } = options;
  let after = options.after;
  let synchronized = false;
  let lost: number | null = null;
  while (signal?.aborted !== true) {
    try {
      const query = `after=${after}${thread === undefined ? "" : `&thread=${encodeURIComponent(thread)}`}`;
      const incoming = await call(target, { method: "GET", path: `/feed?${query}`, timeoutMs: silenceMs, signal });
      await check(incoming);
      lost = null;
      for await (const line of linesOf(incoming)) {
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
async function* linesOf(incoming: IncomingMessage): AsyncGenerator<FeedLine> {
  const silence = setTimeout(() => incoming.destroy(), silenceMs);
  // Node's line reader would give out the unfinished rest as a line; every line of the feed ends with its own newline.
  // The rest is kept in pieces: a large line comes in many, and none of them is to be looked through twice.
  let rest: string[] = [];
  incoming.setEncoding("utf8");
  try {
    for await (const chunk of incoming as AsyncIterable<string>) {
      silence.refresh();
      const [first = "", ...more] = chunk.split("\n");
      rest.push(first);
      for (const next of more) {
        const line = rest.join("");
        rest = [next];
        if (line !== "") yield JSON.parse(line) as FeedLine;
      }
    }
  } catch (error) {
    // Broken off: the caller comes back for the rest. A line that cannot be read would come again.
    if (error instanceof SyntaxError) throw error;
  } finally {
    clearTimeout(silence);
    incoming.destroy();
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
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
