import type { TurnSink } from "../contract.ts";
import type { Ask } from "./approvals.ts";
import { failure } from "./failure.ts";
import type { RpcId } from "./protocol.ts";
import type { RpcPeer } from "./rpc.ts";

/** The requests of one turn that wait for a person. Ours is `<turn>.r<their id>`: theirs count from 0 in every process. */
export class OpenRequests {
  readonly #peer: RpcPeer;
  readonly #open = new Map<string, { id: RpcId; ask: Ask; answered: boolean }>();

  constructor(peer: RpcPeer) {
    this.#peer = peer;
  }

  open(turnId: string, id: RpcId, ask: Ask, emit: TurnSink): void {
    const requestId = requestIdOf(turnId, id);
    this.#open.set(requestId, { id, ask, answered: false });
    const { question, text, options } = ask;
    emit({ type: "request_opened", requestId, question, text, options });
  }

  /**
   * Sends the answer; tells whether the turn must be interrupted as well.
   * @throws ProviderFailure `invalid_request`, reason `unknown_request` or `unknown_answer`.
   */
  answer(requestId: string, answer: string): { interrupt: boolean } {
    const request = this.#open.get(requestId);
    if (request === undefined || request.answered) {
      throw failure("unknown_request", `Codex has no open request ${requestId}.`, "It was answered already, or its turn has ended.", {
        code: "invalid_request",
      });
    }
    const { ask, id } = request;
    if (!ask.open && !ask.options.includes(answer)) {
      throw failure("unknown_answer", `"${answer}" is not one of ${ask.options.join(", ")}.`, "Give one of these.", {
        code: "invalid_request",
      });
    }
    request.answered = true;
    const { result, interrupt } = ask.reply(answer);
    this.#peer.respond(id, result);
    return { interrupt };
  }

  /** Codex needs no answer to this one any more. */
  resolved(turnId: string, id: RpcId, emit: TurnSink): void {
    this.#close(requestIdOf(turnId, id), emit);
  }

  closeAll(emit: TurnSink): void {
    for (const requestId of [...this.#open.keys()]) this.#close(requestId, emit);
  }

  #close(requestId: string, emit: TurnSink): void {
    if (this.#open.delete(requestId)) emit({ type: "request_closed", requestId });
  }
}

function requestIdOf(turnId: string, id: RpcId): string {
  return `${turnId}.r${id}`;
}
