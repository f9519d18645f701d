import type { Clock } from "../../runtime/ports/clock.ts";

/** Waits `ms`, or for ever when it is null. Rejects with the signal's reason as soon as one of `signals` is aborted. */
export function pause(clock: Clock, ms: number | null, signals: AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.any(signals);
    if (signal.aborted) return reject(signal.reason);
    const stop = ms === null ? () => undefined : clock.after(ms, done);
    signal.addEventListener("abort", aborted, { once: true });
    function done() {
      signal.removeEventListener("abort", aborted);
      resolve();
    }
    function aborted() {
      stop();
      reject(signal.reason);
    }
  });
}
