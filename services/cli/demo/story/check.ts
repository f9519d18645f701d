/** One thing that must hold, with what was seen instead where it does not. */
export type Check = { holds: boolean; what: string; saw?: unknown };

export function check(what: string, holds: boolean, saw?: unknown): Check {
  return holds || saw === undefined ? { holds, what } : { holds, what, saw };
}

/** Two values are the same, compared as JSON. */
export function same(what: string, saw: unknown, expected: unknown): Check {
  return check(what, JSON.stringify(saw) === JSON.stringify(expected), saw);
}
