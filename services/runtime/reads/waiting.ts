import type { ActorId } from "../../../schemas/ids.ts";
import type { Clock } from "../ports/clock.ts";
import type { Commits } from "./commits.ts";

/** Calls back whenever what is waited for may have changed; returns how to stop. */
export type Watch = (changed: () => void) => () => void;

export const everyCommit =
  (commits: Commits): Watch =>
  (changed) =>
    commits.onCommit(changed);
export const commitsOf =
  (commits: Commits, id: ActorId): Watch =>
  (changed) =>
    commits.onActor(id, changed);

/**
 * Resolves with what `look` finds once `enough` says so, looking again after every commit that `watch` tells of; or with
 * what it finds when the time is up. Changes nothing and cancels nothing.
 */
export function waitFor<T>(watch: Watch, clock: Clock, timeoutMs: number, look: () => T, enough: (found: T) => boolean): Promise<T> {
  const found = look();
  if (enough(found) || timeoutMs <= 0) return Promise.resolve(found);
  return new Promise((resolve) => {
    const stopClock = clock.after(timeoutMs, () => finish(look()));
    const stopListening = watch(() => {
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
