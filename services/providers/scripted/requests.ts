import type { ProviderSession, TurnSink } from "../contract.ts";
import { approvalAnswers } from "../contract.ts";
import { failure } from "./failure.ts";

export type Question = { question: "command" | "file_change" | "permission" | "question"; text: string; options: string[] };

/** The open requests of one turn. */
export class Requests {
  readonly #turn: string;
  readonly #sink: TurnSink;
  readonly #open = new Map<string, { options: string[]; settle: (answer: string) => void }>();
  #count = 0;

  constructor(turn: string, sink: TurnSink) {
    this.#turn = turn;
    this.#sink = sink;
  }

  /** Opens a request and waits for its answer; an abort of `signal` closes it and rejects with the signal's reason. */
  ask(asked: Question, signal: AbortSignal): Promise<string> {
    this.#count += 1;
    const requestId = `${this.#turn}.r${this.#count}`;
    return new Promise((resolve, reject) => {
      const close = () => {
        signal.removeEventListener("abort", aborted);
        this.#open.delete(requestId);
        this.#sink({ type: "request_closed", requestId });
      };
      const aborted = () => {
        close();
        reject(signal.reason);
      };
      const settle = (answer: string) => {
        close();
        resolve(answer);
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", aborted, { once: true });
      this.#open.set(requestId, { options: asked.options, settle });
      this.#sink({ type: "request_opened", requestId, ...asked });
    });
  }

  /** See {@link ProviderSession.answer}. */
  answer(requestId: string, answer: string): void {
    const request = this.#open.get(requestId);
    if (request === undefined) {
      throw failure("unknown_request", `There is no open request ${requestId}.`, "It was answered already, or its turn has ended.", {
        code: "invalid_request",
      });
    }
    if (request.options.length > 0 && !request.options.includes(answer)) {
      throw failure("unknown_answer", `"${answer}" is not one of ${request.options.join(", ")}.`, "Give one of these.", {
        code: "invalid_request",
      });
    }
    request.settle(answer);
  }
}

/** What an approval may be answered with where the script does not say. */
export const defaultOptions: string[] = [...approvalAnswers];
