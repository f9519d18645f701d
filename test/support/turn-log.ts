import type { ProviderSession, TurnEvent, TurnInput } from "../../services/providers/contract.ts";

type Ended = Extract<TurnEvent, { type: "ended" }>;
type Opened = Extract<TurnEvent, { type: "request_opened" }>;
type Item = Extract<TurnEvent, { type: "item" }>;

/** What a sink was told, in order, and waits for more of it. */
export class TurnLog {
  readonly events: TurnEvent[] = [];
  readonly #waiting = new Set<() => void>();

  readonly sink = (event: TurnEvent): void => {
    this.events.push(event);
    for (const look of [...this.#waiting]) look();
  };

  /** The first event that `matches`, now or within `ms`. */
  until<T extends TurnEvent>(matches: (event: TurnEvent) => event is T, ms?: number): Promise<T>;
  until(matches: (event: TurnEvent) => boolean, ms?: number): Promise<TurnEvent>;
  until(matches: (event: TurnEvent) => boolean, ms = 20_000): Promise<TurnEvent> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = this.events.find(matches);
        if (!found) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(found);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(look);
        reject(new Error(`did not come within ${ms} ms; so far: ${JSON.stringify(this.events)}`));
      }, ms);
      this.#waiting.add(look);
      look();
    });
  }

  ended = (ms?: number): Promise<Ended> => this.until((event): event is Ended => event.type === "ended", ms);
  asked = (ms?: number): Promise<Opened> => this.until((event): event is Opened => event.type === "request_opened", ms);

  get items(): Item[] {
    return this.events.filter((event): event is Item => event.type === "item");
  }

  /** Texts of the assistant's messages. */
  get said(): string[] {
    return this.items.flatMap(({ body }) => (body.kind === "assistant_message" && "text" in body.content ? [body.content.text] : []));
  }
}

let attempts = 0;

/** An input for one turn, under an attempt id of its own unless one is given. */
export function input(message: string, more: Partial<TurnInput> = {}): TurnInput {
  attempts += 1;
  const id = `0197f000-0000-7000-8000-${String(attempts).padStart(12, "0")}`;
  return { attemptId: `attempt:${id}`, runId: `run:${id}`, context: [], message, ...more };
}

/** Starts a turn and waits for its end. */
export async function runTurn(session: ProviderSession, given: TurnInput | string) {
  const log = new TurnLog();
  const { turnRef } = await session.startTurn(typeof given === "string" ? input(given) : given, log.sink, new AbortController().signal);
  return { log, turnRef, ended: await log.ended() };
}
