import type { NativeRef } from "../../../schemas/provider.ts";
import type { Refusal } from "../../../schemas/refusal.ts";
import type { RunEnding } from "../../../schemas/run.ts";
import { content } from "../content.ts";
import type { ProviderFailure, TurnEvent, TurnSink } from "../contract.ts";
import { readAsk } from "./approvals.ts";
import { turnFailure } from "./failure.ts";
import { childThreadsOf, commandBody, itemBody, planBody } from "./items.ts";
import type { BackgroundTerminals, CodexItem, CodexTurn, RpcId, ThreadFrame } from "./protocol.ts";
import { OpenRequests } from "./requests.ts";
import type { Connection } from "./server.ts";

/** How much of a running command's output is kept, for the case that the command is cut off. */
const outputTailChars = 64 * 1024;
const terminateTimeoutMs = 2_000;
const terminatedPolls = 20;
const pollMs = 50;

export type TurnHost = {
  threadId: string;
  connection: Connection;
  /** A child thread whose frames belong to this turn. */
  child(threadId: string): void;
  /** The model's context window, as Codex tells it. */
  contextWindow(tokens: number): void;
};

/**
 * One turn from its input to its end: turns the frames of its thread into events. Frames that come before the answer of
 * `turn/start` has been handed on wait, so that the caller hears of the acceptance first; nothing follows `ended`.
 */
export class Turn {
  readonly #host: TurnHost;
  readonly #sink: TurnSink;
  readonly #requests: OpenRequests;
  /** What waits for the acceptance; null once events flow. */
  #waiting: (() => void)[] | null = [];
  #id: string | null = null;
  #muted = false;
  #ending = false;
  #over = false;
  #partial: { id: string; text: string } | null = null;
  #plan = "";
  readonly #started = new Map<string, CodexItem>();
  readonly #outputs = new Map<string, string>();
  #settleEnd: () => void = () => undefined;
  readonly ended: Promise<void>;

  constructor(host: TurnHost, sink: TurnSink) {
    this.#host = host;
    this.#sink = sink;
    this.#requests = new OpenRequests(host.connection.peer);
    this.ended = new Promise((resolve) => {
      this.#settleEnd = resolve;
    });
  }

  get over(): boolean {
    return this.#over;
  }

  get ref(): NativeRef | null {
    return this.#id === null ? null : { id: this.#id, strength: "strong" };
  }

  /** Codex took the input as this native turn. */
  accepted(id: string): void {
    this.#id = id;
    setImmediate(() => {
      const waiting = this.#waiting ?? [];
      this.#waiting = null;
      for (const frame of waiting) frame();
    });
  }

  /** Codex did not take the input: there is no turn. */
  refused(): void {
    this.#muted = true;
    this.#waiting = null;
    this.#finish("failed", null);
  }

  /** Nobody waits for this turn any more; it is followed to its end in silence. */
  mute(): void {
    this.#muted = true;
  }

  notified(method: string, frame: ThreadFrame): void {
    if (this.#waiting) this.#waiting.push(() => this.notified(method, frame));
    else if (!this.#over && this.#isMine(frame)) this.#handle(method, frame);
  }

  /** A request of Codex to a person; one that nobody can answer is refused, so that Codex does not wait for ever. */
  asked(id: RpcId, method: string, frame: ThreadFrame): void {
    if (this.#waiting) {
      this.#waiting.push(() => this.asked(id, method, frame));
      return;
    }
    const item = this.#started.get(frame.itemId ?? "");
    const ask = this.#over || this.#id === null ? null : safely(() => readAsk(method, frame, item));
    if (ask === null || this.#id === null) this.#host.connection.peer.refuse(id, `nobody here answers ${method}`);
    else if (this.#muted) this.#host.connection.peer.respond(id, ask.reply("cancel").result);
    else this.#requests.open(this.#id, id, ask, (event) => this.#emit(event));
  }

  /** The process is gone: by our own doing (`closed`, an interruption), or not (a failure). */
  died(cause: ProviderFailure, closed: boolean): void {
    if (this.#waiting && this.#id !== null) this.#waiting.push(() => this.died(cause, closed));
    else if (this.#waiting) this.refused();
    else if (!this.#ending) this.#finish(closed ? "interrupted" : "failed", closed ? null : cause.refusal);
  }

  /** Throws a `ProviderFailure` for a request that is not open. */
  answer(requestId: string, answer: string): { interrupt: boolean } {
    return this.#requests.answer(requestId, answer);
  }

  /** Frames of a child thread count as signs of life; only what it asks is handled. */
  #isMine(frame: ThreadFrame): boolean {
    if (frame.threadId !== this.#host.threadId) {
      if (frame.requestId !== undefined) return true;
      this.#alive();
      return false;
    }
    const turnId = frame.turn?.id ?? frame.turnId ?? null;
    return turnId === null || turnId === this.#id;
  }

  #handle(method: string, frame: ThreadFrame): void {
    const known = this.#handlers[method];
    if (known) known(frame);
    else this.#alive();
  }

  readonly #handlers: Record<string, (frame: ThreadFrame) => void> = {
    "item/started": ({ item }) => this.#startedItem(item),
    "item/completed": ({ item }) => this.#completedItem(item),
    "item/agentMessage/delta": (frame) => this.#progress(frame),
    "item/commandExecution/outputDelta": (frame) => this.#output(frame),
    "turn/plan/updated": (frame) => this.#planUpdated(frame),
    "thread/tokenUsage/updated": ({ tokenUsage }) => this.#usage(tokenUsage?.modelContextWindow),
    "serverRequest/resolved": ({ requestId }) => this.#resolved(requestId),
    "turn/completed": ({ turn }) => void (turn && this.#completed(turn)),
  };

  #alive(): void {
    this.#emit({ type: "alive" });
  }

  #usage(window: number | null | undefined): void {
    if (window) this.#host.contextWindow(window);
    this.#alive();
  }

  #resolved(requestId: RpcId | undefined): void {
    if (requestId !== undefined && this.#id !== null) this.#requests.resolved(this.#id, requestId, (event) => this.#emit(event));
  }

  #progress({ itemId = "", delta = "" }: ThreadFrame): void {
    if (this.#partial?.id !== itemId) this.#partial = { id: itemId, text: "" };
    this.#partial.text += delta;
    this.#emit({ type: "progress", text: this.#partial.text.toWellFormed() });
  }

  #output({ itemId = "", delta = "" }: ThreadFrame): void {
    this.#outputs.set(itemId, ((this.#outputs.get(itemId) ?? "") + delta).slice(-outputTailChars));
    this.#alive();
  }

  #startedItem(item: CodexItem | undefined): void {
    if (item?.id !== undefined) this.#started.set(item.id, item);
    this.#learnChildren(item);
    this.#alive();
  }

  #completedItem(item: CodexItem | undefined): void {
    if (item === undefined) return;
    if (item.id !== undefined) {
      this.#started.delete(item.id);
      this.#outputs.delete(item.id);
    }
    if (item.type === "agentMessage" && this.#partial?.id === item.id) this.#partial = null;
    this.#learnChildren(item);
    const body = safely(() => itemBody(item));
    this.#emit(body === null ? { type: "alive" } : { type: "item", body, nativeId: item.id ?? null });
  }

  /** A child's own frames are told on the same connection, without a word of whose child it is. */
  #learnChildren(item: CodexItem | undefined): void {
    for (const child of item ? (safely(() => childThreadsOf(item)) ?? []) : []) this.#host.child(child);
  }

  /** Codex tells the whole list at every change; the same list twice is told once. */
  #planUpdated(frame: ThreadFrame): void {
    const body = safely(() => planBody(frame));
    const text = JSON.stringify(body);
    if (body === null || text === this.#plan) {
      this.#alive();
      return;
    }
    this.#plan = text;
    this.#emit({ type: "item", body, nativeId: null });
  }

  async #completed(turn: CodexTurn): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    const ending = endings[turn.status] ?? "failed";
    if (ending !== "completed") await this.#stopCommands().catch(() => undefined);
    this.#finish(ending, ending === "failed" ? turnFailure(turn.error, (text) => this.#host.connection.redact(text)) : null);
  }

  /** An interrupt of Codex leaves the command that was running as a background terminal: it is ended too. */
  async #stopCommands(): Promise<void> {
    const running = this.#runningCommands();
    if (running.length === 0) return;
    const { threadId, connection } = this.#host;
    const { peer } = connection;
    const { data } = await peer.request<BackgroundTerminals>("thread/backgroundTerminals/list", { threadId }, terminateTimeoutMs);
    const mine = data.filter(({ itemId }) => running.some(({ id }) => id === itemId));
    await Promise.all(
      mine.map(({ processId }) => peer.request("thread/backgroundTerminals/terminate", { threadId, processId }, terminateTimeoutMs)),
    );
    // What they had printed comes as their completed items.
    for (let poll = 0; poll < terminatedPolls && mine.some(({ itemId }) => this.#started.has(itemId)); poll++)
      await connection.pause(pollMs);
  }

  #runningCommands(): CodexItem[] {
    return [...this.#started.values()].filter(({ type }) => type === "commandExecution");
  }

  /** Tells what is left as the pieces that they are, and the end. */
  #finish(ending: RunEnding, error: Refusal | null): void {
    if (this.#over) return;
    for (const item of this.#runningCommands()) {
      const body = commandBody(item, this.#outputs.get(item.id ?? "") ?? "");
      this.#emit({ type: "item", body, nativeId: item.id ?? null, truncated: true });
    }
    if (this.#partial && this.#partial.text !== "") {
      const body = { kind: "assistant_message" as const, content: content(this.#partial.text) };
      this.#emit({ type: "item", body, nativeId: this.#partial.id, truncated: true });
    }
    this.#requests.closeAll((event) => this.#emit(event));
    this.#emit({ type: "ended", ending, error, turnRef: this.ref });
    this.#over = true;
    this.#settleEnd();
  }

  #emit(event: TurnEvent): void {
    if (!this.#muted && !this.#over) this.#sink(event);
  }
}

const endings: Record<string, RunEnding> = { completed: "completed", interrupted: "interrupted", failed: "failed" };

/** An item of a shape that we do not know must not end the environment. */
function safely<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
