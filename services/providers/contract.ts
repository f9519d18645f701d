import type { ItemBody } from "../../schemas/item.ts";
import type { Modes } from "../../schemas/modes.ts";
import type { NativeRef, ProviderCapabilities, ProviderInstanceId, TurnName } from "../../schemas/provider.ts";
import type { Refusal } from "../../schemas/refusal.ts";
import type { RunEnding } from "../../schemas/run.ts";
import type { AppTools } from "../runtime/ports/thread-tools.ts";

/**
 * The adapter contract (providers.md): one provider behind one interface. The adapter owns native detail (boundaries,
 * history modes, process life); the orchestrator owns relationships, source points and transfers, and never encodes a
 * provider's rules. Adapters are made by the composition root, one per configured instance.
 */
export interface ProviderAdapter {
  readonly instance: ProviderInstanceId;
  readonly capabilities: ProviderCapabilities;
  /**
   * Opens a native conversation for one attempt: a new one, an existing one to go on, or a fork at a completed turn.
   * Rejects with {@link ProviderFailure}; `openFailed` on it tells that this way of opening is impossible (a refused
   * fork), as opposed to a provider that is not there; `rewindRefused`, that the conversation is there but cannot be taken
   * back in place. `signal` aborts a start that hangs (cases S08, R03).
   */
  open(request: OpenSession, signal: AbortSignal): Promise<ProviderSession>;
  /**
   * After a crash: what became of an input that may or may not have been given. `accepted` names the native turn;
   * `absent` is certain; `unknown` where the provider cannot tell.
   */
  lookup(query: LookupQuery): Promise<LookupAnswer>;
  /** Ends every process of this instance; resolves when none is left. */
  close(): Promise<void>;
}

export type OpenSession = {
  /** Absolute path of the folder that the agent works in. */
  cwd: string;
  model: string | null;
  modes: Modes;
  /** Our thread, so that a provider that records inputs can name it; never sent as a native id. */
  threadId: string;
  /** This environment's tools for the agent, where its provider takes such; good until the session is let go. */
  appTools?: AppTools;
} & OpenConversation;

export type OpenConversation =
  | { kind: "new" }
  /** With `rewind` (asked only of adapters whose `rewind` is `inPlace`) it is taken back first. */
  | { kind: "resume"; nativeRef: NativeRef; rewind?: Rewind }
  /** A new conversation with everything up to and including the completed turn `turnRef`. */
  | { kind: "fork"; nativeRef: NativeRef; turnRef: NativeRef };

/**
 * Takes a conversation back in place: when it is open, `keep` is there and none of `drop` is. All of `drop` are later than
 * `keep`. Repeatable, as a crash may have come after it: what is gone already is no failure. The adapter looks at what it
 * has left, and never trusts an answer alone. A turn of somebody else's (in another client of the provider) is never taken
 * back: where that cannot be kept apart, it refuses.
 */
export type Rewind = { keep: TurnName; drop: readonly TurnName[] };

/** One open native conversation. At most one turn at a time. */
export interface ProviderSession {
  /** The native conversation that now backs the thread. For a fork: the new one. */
  readonly nativeRef: NativeRef;
  /**
   * Gives the input. Resolves once the provider has accepted it (decision 29), with the native turn where it has one.
   * Rejects with {@link ProviderFailure} when it was not accepted. Everything that follows arrives at `sink`; exactly one
   * `ended` is the last. `signal` aborts waiting for the acceptance.
   */
  startTurn(input: TurnInput, sink: TurnSink, signal: AbortSignal): Promise<{ turnRef: NativeRef | null }>;
  /** Asks the running turn to end; its end arrives at the sink. A no-op without one. */
  interrupt(): Promise<void>;
  /** Answers an open request of the running turn. Rejects when the provider does not know it any more. */
  answer(requestId: string, answer: string): Promise<void>;
  /** Lets go of the native conversation (no longer its writer). Resolves when another writer may open it. */
  detach(): Promise<void>;
}

export type TurnInput = {
  /** Our attempt id: given to the provider as the message id where it takes one, and looked up by it. */
  attemptId: string;
  runId: string;
  /** Rendered handoffs, oldest first; given through the native channel or before the message as text. */
  context: string[];
  message: string;
};

export type TurnSink = (event: TurnEvent) => void;

/** What happens during a turn. `item` is complete; `progress` is the whole text so far of an assistant message that is not. */
export type TurnEvent =
  | { type: "progress"; text: string }
  | { type: "item"; body: ItemBody; nativeId: string | null; truncated?: boolean }
  | {
      type: "request_opened";
      requestId: string;
      question: "command" | "file_change" | "permission" | "question";
      text: string;
      options: string[];
    }
  | { type: "request_closed"; requestId: string }
  /** Any sign of life that is none of the above: keeps the lease. */
  | { type: "alive" }
  | { type: "ended"; ending: RunEnding; error: Refusal | null; turnRef: NativeRef | null };

export type LookupQuery = { cwd: string; threadId: string; nativeRef: NativeRef | null; attemptId: string };
export type LookupAnswer =
  | { outcome: "absent" }
  | { outcome: "unknown" }
  /** `ending` is null while it is not known how the turn ended. */
  | { outcome: "accepted"; nativeRef: NativeRef; turnRef: NativeRef | null; ending: RunEnding | null };

/** Thrown by adapters only; the provider host turns it into a run's error. */
export class ProviderFailure extends Error {
  override readonly name = "ProviderFailure";
  readonly refusal: Refusal;
  /** True when the way of opening is what failed (a native fork that cannot be honoured). */
  readonly openFailed: boolean;
  /** True when the conversation is there and only taking it back in place was refused. */
  readonly rewindRefused: boolean;
  constructor(refusal: Refusal, options: { openFailed?: boolean; rewindRefused?: boolean; cause?: unknown } = {}) {
    super(refusal.message, { cause: options.cause });
    this.refusal = refusal;
    this.rewindRefused = options.rewindRefused ?? false;
    this.openFailed = options.openFailed ?? this.rewindRefused;
  }
}

/** How an approval is answered in our words; adapters translate to the provider's. */
export const approvalAnswers = ["accept", "accept_for_session", "decline", "cancel"] as const;
