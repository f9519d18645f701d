import type { PublicCommand } from "../../../schemas/command.ts";
import type { CommandId } from "../../../schemas/ids.ts";
import type { ResultOf } from "../../../schemas/results.ts";
import { EnvironmentUnreachable } from "../../http/client/failures.ts";

/** Says a command under an id; the same again under the same id does nothing twice. */
type Say = (command: PublicCommand, id: CommandId) => Promise<unknown>;
type Waiting = { text: string; since: number };

const retryMs = 300;

/**
 * What was typed and has to reach the environment, in its order: kept until the environment has answered, however long that
 * is away. Each is said under an id of its own, so that one whose answer was lost is not done twice.
 */
export class Outbox {
  readonly #say: Say;
  readonly #makeId: () => CommandId;
  readonly #closed = new AbortController();
  #waiting: Waiting[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(say: Say, makeId: () => CommandId) {
    this.#say = say;
    this.#makeId = makeId;
  }

  /** What has not been answered for so long. */
  unsent(ms = 0): string[] {
    const now = performance.now();
    return this.#waiting.filter(({ since }) => now - since >= ms).map(({ text }) => text);
  }

  /** `text`: what was typed, to be told while it waits. Throws the environment's refusal. */
  post<C extends PublicCommand>(command: C, text: string): Promise<ResultOf[C["type"]]> {
    const waiting = { text, since: performance.now() };
    this.#waiting.push(waiting);
    const id = this.#makeId();
    const answered = this.#last
      .then(() => this.#untilAnswered(command, id))
      .finally(() => {
        if (!this.#closed.signal.aborted) this.#waiting = this.#waiting.filter((other) => other !== waiting);
      });
    this.#last = answered.catch(() => {});
    return answered as Promise<ResultOf[C["type"]]>;
  }

  /** Once all is answered, or after so long; nothing is said any more then. */
  async close(ms: number): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    await Promise.race([this.#last, new Promise((resolve) => (late = setTimeout(resolve, ms)))]);
    clearTimeout(late);
    this.#closed.abort();
  }

  async #untilAnswered(command: PublicCommand, id: CommandId): Promise<unknown> {
    for (;;) {
      if (this.#closed.signal.aborted) throw new EnvironmentUnreachable("", "left before it was sent");
      try {
        return ((await this.#say(command, id)) as { result: unknown }).result;
      } catch (error) {
        if (!(error instanceof EnvironmentUnreachable)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}
