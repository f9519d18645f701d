import type { NativeRef } from "../../../schemas/provider.ts";
import type { Refusal } from "../../../schemas/refusal.ts";
import type { RunEnding } from "../../../schemas/run.ts";
import { content, wellFormed } from "../content.ts";
import type { ProviderFailure, TurnEvent, TurnSink } from "../contract.ts";
import { OpenCalls } from "./calls.ts";
import { endingOf } from "./ending.ts";
import { readAsk } from "./permissions.ts";
import type { Block, Frame, PermissionAnswer, PermissionRequest } from "./protocol.ts";
import { OpenRequests, unknownRequest } from "./requests.ts";

export type TurnHost = {
  cwd: string;
  /** The uuid of the message that the turn was given. */
  inputId: string;
  redact(text: string): string;
  /** The model's context window, as Claude tells it. */
  contextWindow(tokens: number): void;
};

/** One turn from its input to its end: turns the frames of its session into events. Nothing follows `ended`. */
export class Turn {
  readonly #host: TurnHost;
  readonly #sink: TurnSink;
  readonly #calls: OpenCalls;
  readonly #requests: OpenRequests;
  #accepted = false;
  #muted = false;
  #over = false;
  #interrupted = false;
  #partial = "";
  /** The newest entry of the conversation itself: where a fork of what this turn leaves begins. */
  #last: string | null = null;
  #lastError: Frame | null = null;
  readonly #acceptance = Promise.withResolvers<void>();
  readonly #end = Promise.withResolvers<void>();

  constructor(host: TurnHost, sink: TurnSink) {
    this.#host = host;
    this.#sink = sink;
    this.#calls = new OpenCalls(host.cwd);
    this.#requests = new OpenRequests((event) => this.#emit(event));
    // Whoever waits for it hears of it; nobody need wait.
    this.#acceptance.promise.catch(() => undefined);
  }

  get over(): boolean {
    return this.#over;
  }

  /** Resolves when Claude has taken the input up; rejects when it has not. */
  get acceptance(): Promise<void> {
    return this.#acceptance.promise;
  }

  get ended(): Promise<void> {
    return this.#end.promise;
  }

  /** Nobody waits for this turn any more; it is followed to its end in silence. */
  mute(): void {
    this.#muted = true;
    this.#requests.closeAll();
  }

  interruptAsked(): void {
    this.#interrupted = true;
  }

  /** Tells whether the input was accepted with this frame. */
  take(frame: Frame): boolean {
    if (this.#over) return false;
    if (!this.#accepted) return this.#await(frame);
    this.#read(frame);
    return false;
  }

  ask(request: PermissionRequest): Promise<PermissionAnswer> {
    if (this.#over || this.#muted || !this.#accepted)
      return Promise.resolve({ behavior: "deny", message: "Nobody is there to ask.", interrupt: true });
    return this.#requests.ask(request, readAsk(request, this.#host.cwd));
  }

  /** Throws a `ProviderFailure` for a request that is not open. */
  answer(requestId: string, answer: string): void {
    if (this.#over) throw unknownRequest(requestId);
    this.#requests.answer(requestId, answer);
  }

  /** A plan that was told where it could not be carried out. */
  plan(text: string): void {
    if (text.trim() !== "") this.#item({ kind: "plan", content: content(text) }, null);
  }

  /** The process is gone: by our own doing (`closed`, an interruption), or not (a failure). */
  died(cause: ProviderFailure, closed: boolean): void {
    if (this.#over) return;
    if (!this.#accepted) {
      this.#over = true;
      this.#acceptance.reject(cause);
      this.#end.resolve();
      return;
    }
    this.#finish(closed ? "interrupted" : "failed", closed ? null : cause.refusal);
  }

  #await({ type, command_uuid: id, state }: Frame): boolean {
    if (type !== "command_lifecycle" || id !== this.#host.inputId || state !== "started") return false;
    this.#accepted = true;
    this.#acceptance.resolve();
    return true;
  }

  #read(frame: Frame): void {
    // What a subagent says is a sign of life; what came of it is told with the call that started it.
    if (frame.parent_tool_use_id) this.#emit({ type: "alive" });
    else if (frame.type === "stream_event") this.#streamed(frame);
    else if (frame.type === "assistant") this.#said(frame);
    else if (frame.type === "user") this.#given(frame);
    else if (frame.type === "result" && this.#isMine(frame)) this.#result(frame);
    else this.#emit({ type: "alive" });
  }

  #isMine({ user_message_uuid: id, user_message_uuids: ids, origin }: Frame): boolean {
    if (id === undefined && ids === undefined) return origin?.kind !== "task-notification";
    return id === this.#host.inputId || ids?.includes(this.#host.inputId) === true;
  }

  #streamed({ event }: Frame): void {
    if (event?.type === "content_block_start" && event.content_block?.type === "text") this.#partial = "";
    if (event?.type !== "content_block_delta" || event.delta?.type !== "text_delta") {
      this.#emit({ type: "alive" });
      return;
    }
    this.#partial += event.delta.text ?? "";
    this.#emit({ type: "progress", text: wellFormed(this.#partial) });
  }

  #said(frame: Frame): void {
    this.#last = frame.uuid ?? this.#last;
    this.#lastError = isEndpointError(frame) ? frame : null;
    const blocks = frame.message?.content;
    // What is made up by the program (an error, a filler) is not a message of the model's.
    if (frame.message?.model === "<synthetic>" || !Array.isArray(blocks)) return;
    for (const block of blocks) this.#block(block, frame);
  }

  #block(block: Block, { uuid, aborted }: Frame): void {
    const nativeId = uuid ?? null;
    switch (block.type) {
      case "text":
        this.#partial = "";
        if (block.text?.trim()) this.#item({ kind: "assistant_message", content: content(block.text) }, nativeId, aborted === true);
        return;
      case "thinking":
        if (block.thinking?.trim()) this.#item({ kind: "reasoning", content: content(block.thinking) }, nativeId);
        return;
      case "tool_use":
      case "server_tool_use":
        this.#calls.opened(block);
        this.#emit({ type: "alive" });
        return;
      default:
        // Results of tools that the endpoint itself ran stand in the model's own message.
        for (const event of this.#calls.closed({ type: "user", message: { content: [block] } })) this.#emit(event);
    }
  }

  #given(frame: Frame): void {
    this.#last = frame.uuid ?? this.#last;
    for (const event of this.#calls.closed(frame)) this.#emit(event);
  }

  #result(frame: Frame): void {
    for (const { contextWindow } of Object.values(frame.modelUsage ?? {})) if (contextWindow) this.#host.contextWindow(contextWindow);
    const { ending, error } = endingOf(frame, this.#lastError, this.#interrupted, (text) => this.#host.redact(text));
    this.#finish(ending, error);
  }

  /** Tells what is left as the pieces that they are, and the end. */
  #finish(ending: RunEnding, error: Refusal | null): void {
    if (this.#over) return;
    for (const event of this.#calls.cutOff()) this.#emit(event);
    if (this.#partial !== "") this.#item({ kind: "assistant_message", content: content(this.#partial) }, null, true);
    this.#requests.closeAll();
    const turnRef: NativeRef | null = this.#last === null ? null : { id: this.#last, strength: "strong" };
    const emit = this.#muted ? () => {} : this.#sink;
    this.#over = true;
    this.#end.resolve();
    emit({ type: "ended", ending, error, turnRef });
  }

  #item(body: Extract<TurnEvent, { type: "item" }>["body"], nativeId: string | null, truncated = false): void {
    this.#emit({ type: "item", body, nativeId, ...(truncated && { truncated }) });
  }

  #emit(event: TurnEvent): void {
    if (!this.#muted && !this.#over) this.#sink(event);
  }
}

function isEndpointError({ message, is_api_error_message: said, error }: Frame): boolean {
  return message?.model === "<synthetic>" && (said === true || error !== undefined);
}
