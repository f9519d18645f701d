import type { Clock } from "../ports/clock.ts";
import type { Commits } from "./commits.ts";

/**
 * Resolves with what `look` finds once `enough` says so, looking again after every commit; or with what it finds when the
 * time is up. Changes nothing and cancels nothing.
 */
export function waitFor<T>(commits: Commits, clock: Clock, timeoutMs: number, look: () => T, enough: (found: T) => boolean): Promise<T> {
  const found = look();
  if (enough(found) || timeoutMs <= 0) return Promise.resolve(found);
  return new Promise((resolve) => {
    const stopClock = clock.after(timeoutMs, () => finish(look()));
    const stopListening = commits.onCommit(() => {
      const now = look();
      if (enough(now)) finish(now);
    });
    const finish = (value: T) => {
      stopClock();
      stopListening();
      resolve(value);
    };
  });
}
