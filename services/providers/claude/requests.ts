import type { TurnSink } from "../contract.ts";
import { failure } from "./failure.ts";
import type { Ask } from "./permissions.ts";
import type { PermissionAnswer, PermissionRequest } from "./protocol.ts";

type Open = { ask: Ask; settle: (answer: PermissionAnswer) => void };

/** The requests of one turn that wait for a person. Ours is the id of the call that it is about. */
export class OpenRequests {
  readonly #emit: TurnSink;
  readonly #open = new Map<string, Open>();
  #last = 0;

  constructor(emit: TurnSink) {
    this.#emit = emit;
  }

  /** Resolves with what the person answers; with a refusal when Claude does not wait for it any more. */
  ask({ toolUseId, signal }: PermissionRequest, ask: Ask): Promise<PermissionAnswer> {
    this.#last += 1;
    const requestId = `${toolUseId}.r${this.#last}`;
    return new Promise((resolve) => {
      const settle = (answer: PermissionAnswer) => {
        signal.removeEventListener("abort", withdrawn);
        resolve(answer);
        if (this.#open.delete(requestId)) this.#emit({ type: "request_closed", requestId });
      };
      const withdrawn = () => settle({ behavior: "deny", message: "Nobody waits for this any more." });
      this.#open.set(requestId, { ask, settle });
      const { question, text, options } = ask;
      this.#emit({ type: "request_opened", requestId, question, text, options });
      if (signal.aborted) withdrawn();
      else signal.addEventListener("abort", withdrawn, { once: true });
    });
  }

  /**
   * Gives the answer.
   * @throws ProviderFailure `invalid_request`, reason `unknown_request` or `unknown_answer`.
   */
  answer(requestId: string, answer: string): void {
    const request = this.#open.get(requestId);
    if (request === undefined) throw unknownRequest(requestId);
    const { ask, settle } = request;
    if (!ask.open && !ask.options.includes(answer)) {
      throw failure("unknown_answer", `"${answer}" is not one of ${ask.options.join(", ")}.`, "Give one of these.", {
        code: "invalid_request",
      });
    }
    settle(ask.reply(answer));
  }

  closeAll(): void {
    for (const { settle } of [...this.#open.values()]) settle({ behavior: "deny", message: "The turn has ended.", interrupt: true });
  }
}

export function unknownRequest(requestId: string) {
  return failure("unknown_request", `Claude has no open request ${requestId}.`, "It was answered already, or its turn has ended.", {
    code: "invalid_request",
  });
}
