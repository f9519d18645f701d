import { setTimeout as delay } from "node:timers/promises";

/** Waits for a condition, looking every 10 ms; throws with `what` after `ms`. */
export async function until(what: string, condition: () => boolean, ms = 15_000): Promise<void> {
  for (const end = Date.now() + ms; !condition(); await delay(10)) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain until ${what}`);
  }
}
