/**
 * Boundaries as an environment names them: `before commit run.ended thread.run_ended`, `after effect provider.start`. What
 * shares a commit is a matter of timing, so a boundary is found again by one event of it, and by which time that was.
 */
export type Point = { moment: string; event: string; nth: number };

/** `before commit` and its events; an effect is its own event. */
function partsOf(name: string): { moment: string; events: string[] } {
  const [when = "", what = "", ...events] = name.split(" ");
  return { moment: `${when} ${what}`, events: [...new Set(events)] };
}

/** Counts boundaries as they come, and says which points one of them is. */
export class BoundaryCounter {
  readonly #seen = new Map<string, number>();

  count(name: string): Point[] {
    const { moment, events } = partsOf(name);
    return events.map((event) => {
      const nth = (this.#seen.get(`${moment} ${event}`) ?? 0) + 1;
      this.#seen.set(`${moment} ${event}`, nth);
      return { moment, event, nth };
    });
  }
}

/** One point for each boundary that a recording passed. */
export function pointsOf(recorded: readonly string[]): Point[] {
  const counter = new BoundaryCounter();
  return recorded.flatMap((name) => counter.count(name)[0] ?? []);
}

export const titleOf = ({ moment, event, nth }: Point): string => `${moment} ${event}, ${ordinal(nth)} time`;

function ordinal(n: number): string {
  const suffix = n % 100 >= 11 && n % 100 <= 13 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th");
  return `${n}${suffix}`;
}

/**
 * The share of the points that this run takes (`ROPEWALK_CRASH_SHARE`, 1: all of them). Which ones goes by the day, so that
 * a tenth every day has been everywhere in ten; `ROPEWALK_CRASH_TURN` names the turn of a run that is to be repeated.
 */
export function shareOf<T>(points: readonly T[], env: NodeJS.ProcessEnv = process.env, now = Date.now()): T[] {
  const every = Math.max(1, Math.round(1 / Number(env.ROPEWALK_CRASH_SHARE ?? 1)));
  const turn = Number(env.ROPEWALK_CRASH_TURN ?? Math.floor(now / 86_400_000)) % every;
  const share = points.filter((_, at) => at % every === turn);
  // Fewer points than turns: there is always one of them.
  return share.length > 0 ? share : points.slice(turn % Math.max(1, points.length)).slice(0, 1);
}
