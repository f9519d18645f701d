import type { NativeRef, ProviderCapabilities } from "../../schemas/provider.ts";
import type { ProviderAdapter, ProviderSession, TurnInput, TurnSink } from "../../services/providers/contract.ts";

const capabilities: ProviderCapabilities = {
  nativeFork: "turn",
  rewind: "viaFork",
  contextInjection: "text",
  writerLock: false,
  processModel: "shared",
  appTools: "none",
  steering: false,
  interrupt: true,
  approvals: false,
  subagents: false,
  identity: { thread: "strong", turn: "strong", item: "strong" },
  contextWindow: null,
};

export type Given = { threadId: string; input: TurnInput; sink: TurnSink; turnRef: NativeRef };

/**
 * A provider that costs next to nothing, so that a bench measures us: it accepts at once and answers one item. A bench
 * may take a turn over (`answer` returns false) and end it itself.
 */
export class InstantProvider implements ProviderAdapter {
  readonly instance: string;
  readonly capabilities = capabilities;
  /** Called with every turn. False: the bench answers it later, with {@link complete}. */
  answer: (given: Given) => boolean = () => true;
  text = "Done: everything that was asked for, and nothing else.";
  #conversations = 0;
  #turns = 0;

  constructor(instance = "instant") {
    this.instance = instance;
  }

  async open(request: Parameters<ProviderAdapter["open"]>[0]): Promise<ProviderSession> {
    this.#conversations += 1;
    const nativeRef = request.kind === "resume" ? request.nativeRef : strong(`native-${this.#conversations}`);
    return {
      nativeRef,
      startTurn: async (input, sink) => {
        this.#turns += 1;
        const given: Given = { threadId: request.threadId, input, sink, turnRef: strong(`turn-${this.#turns}`) };
        if (this.answer(given)) this.complete(given);
        return { turnRef: given.turnRef };
      },
      interrupt: async () => {},
      answer: async () => {},
      detach: async () => {},
    };
  }

  /** Says one thing and ends the turn. */
  complete({ sink, turnRef }: Given): void {
    sink({ type: "item", body: { kind: "assistant_message", content: { text: this.text } }, nativeId: null });
    sink({ type: "ended", ending: "completed", error: null, turnRef });
  }

  async lookup(): Promise<{ outcome: "absent" }> {
    return { outcome: "absent" };
  }

  async close(): Promise<void> {}
}

const strong = (id: string): NativeRef => ({ id, strength: "strong" });
