import type { Clock } from "../runtime/ports/clock.ts";

/** What `work` resolves to, or `late()` when that takes longer than `ms`. Its own failure is passed on; what comes late is dropped. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>, late: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = clock.after(ms, () => {
      try {
        resolve(late());
      } catch (cause) {
        reject(cause);
      }
    });
    work.then(resolve, reject).finally(stop);
  });
}
