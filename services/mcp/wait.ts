import type { ToolContext } from "./tool.ts";

/** Waiting within one call, in seconds: less than the minute after which MCP clients give a call up. */
export const maxWaitSeconds = 55;
export const usualWaitSeconds = 25;
const sliceMs = 3_000;

/**
 * Looks until it is enough, the time is up, or the caller has stopped waiting; told as progress at every slice. Returns
 * what was seen last. `wait` may take the time it is given, in milliseconds, and changes nothing.
 */
export async function waitInSlices<T>(
  context: Pick<ToolContext, "signal" | "progress">,
  seconds: number,
  how: { wait(timeoutMs: number): Promise<T>; enough(seen: T): boolean; say(seen: T): string },
): Promise<T> {
  const started = performance.now();
  const elapsed = () => performance.now() - started;
  const aborted = untilAborted(context.signal).then(() => how.wait(0));
  let seen = await how.wait(0);
  // Bounded: each round waits a slice, and the last one what is left.
  while (!how.enough(seen) && !context.signal.aborted) {
    const left = seconds * 1_000 - elapsed();
    if (left <= 0) break;
    context.progress(Math.round(elapsed() / 100) / 10, seconds, how.say(seen));
    seen = await Promise.race([how.wait(Math.min(sliceMs, left)), aborted]);
  }
  return seen;
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
