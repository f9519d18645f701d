import type { Clock } from "./ports/clock.ts";

/** Node's timers take 24.8 days at most, and fire at once for more. */
const longestMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    let timer: NodeJS.Timeout;
    const wait = (left: number) => {
      timer = setTimeout(() => (left > longestMs ? wait(left - longestMs) : callback()), Math.min(Math.max(0, left), longestMs));
      timer.unref();
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
};
