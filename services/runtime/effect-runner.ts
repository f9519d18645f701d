import type { Command } from "../../schemas/command.ts";
import type { EffectKind, EffectRequest } from "../../schemas/effect.ts";
import type { EffectId } from "../../schemas/ids.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { EffectRow, Store } from "./ports/store.ts";

type EffectOf<K extends EffectKind> = Extract<EffectRequest, { kind: K }>;

/** What carries out one kind of effect. It closes the effect itself, in the commit of what came of it, by `closes`. */
export interface EffectHandler<K extends EffectKind> {
  /** Carries it out. Resolves when it is settled; when it rejects, it is tried again, a few times, then set aside. */
  run(request: EffectOf<K>, effectId: EffectId): Promise<void>;
  /**
   * After a crash, for a `once` effect whose start was committed: asks the outside what became of it and settles it.
   * Not asked of repeatable effects, which simply run again. `never_begun`: it is certain that nothing came of it, and it
   * is to be carried out now.
   */
  settle?(request: EffectOf<K>, effectId: EffectId): Promise<"settled" | "never_begun">;
  /**
   * The commands that answer it, where all that it asks for is in the store or in what is decided above it; null when it
   * must be carried out. Asked while the commit that causes it is decided: it reads `decided`, waits for nothing, changes
   * nothing.
   */
  now?(request: EffectOf<K>, decided: Store): Command[] | null;
}

export type EffectHandlers = { [K in EffectKind]: EffectHandler<K> };

const maxTries = 3;

const none: ReadonlySet<EffectId> = new Set();

/**
 * Carries out effects after the commit that stored them. A `once` effect has its start committed first: with the effect
 * itself, or by a commit of its own, which starts that come together share. An effect that keeps failing is set aside and shown; it does not stop the rest (case R04).
 */
export class EffectRunner {
  readonly #dispatcher: Dispatcher;
  readonly #handlers: EffectHandlers;
  readonly #onBoundary: ((name: string) => void) | undefined;
  readonly #log: (message: string, details: Record<string, unknown>) => void;
  readonly #running = new Set<Promise<void>>();
  #starting: { id: EffectId; request: EffectRequest }[] = [];
  #stopped = false;

  constructor(options: {
    dispatcher: Dispatcher;
    handlers: EffectHandlers;
    onBoundary?: ((name: string) => void) | undefined;
    log: (message: string, details: Record<string, unknown>) => void;
  }) {
    this.#dispatcher = options.dispatcher;
    this.#handlers = options.handlers;
    this.#onBoundary = options.onBoundary;
    this.#log = options.log;
  }

  /** Takes on effects that were just committed, `started` among them with their start. */
  take(effects: readonly { id: EffectId; request: EffectRequest }[], started = none): void {
    if (this.#stopped) return;
    for (const effect of effects) {
      if (effect.request.policy === "repeatable") this.#track(this.#run(effect, 1));
      else if (started.has(effect.id)) this.#track(this.#run(effect, maxTries));
      else {
        this.#starting.push(effect);
        if (this.#starting.length === 1) setImmediate(() => this.#track(this.#start()));
      }
    }
  }

  /** What an earlier process left open: repeatable effects run again, started ones are settled. Before anything new. */
  async recover(rows: readonly EffectRow[]): Promise<void> {
    const started = rows.filter((row) => row.state === "started" && row.request.policy === "once");
    await Promise.all(started.map((row) => this.#settle(row)));
    this.take(rows.filter((row) => !started.includes(row)));
  }

  /** What an effect's handler answers without the outside; null when it must be carried out (decision 0103). */
  answerNow(request: EffectRequest, decided: Store): Command[] | null {
    const handler = this.#handlers[request.kind] as EffectHandler<typeof request.kind>;
    return handler.now?.(request as never, decided) ?? null;
  }

  /** Takes on nothing more: what is committed from here on is left for the next start. */
  pause(): void {
    this.#stopped = true;
  }

  /** Resolves when what runs has come to an end. */
  async stop(): Promise<void> {
    this.pause();
    await Promise.allSettled(this.#running);
  }

  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  async #start(): Promise<void> {
    const batch = this.#starting;
    this.#starting = [];
    const receipt = await this.#dispatcher.report({ type: "effects.started", effectIds: batch.map((e) => e.id) });
    if (this.#stopped) return;
    for (const effect of batch) {
      if (receipt.ok) this.#track(this.#run(effect, maxTries));
      else this.#track(this.#setAside(effect.id, effect.request.kind, receipt.refusal.message));
    }
  }

  async #run(effect: { id: EffectId; request: EffectRequest }, tried: number): Promise<void> {
    const { request, id } = effect;
    this.#onBoundary?.(`before effect ${request.kind}`);
    try {
      await (this.#handlers[request.kind] as EffectHandler<typeof request.kind>).run(request as never, id);
      this.#onBoundary?.(`after effect ${request.kind}`);
    } catch (error) {
      if (this.#stopped) return;
      if (tried < maxTries) return this.#run(effect, tried + 1);
      await this.#setAside(id, request.kind, error);
    }
  }

  async #settle(row: EffectRow): Promise<void> {
    try {
      const handler = this.#handlers[row.request.kind] as EffectHandler<typeof row.request.kind>;
      // Not waited for: a provider that hangs must not keep the environment from starting.
      if ((await handler.settle?.(row.request as never, row.id)) === "never_begun") this.#track(this.#run(row, maxTries));
    } catch (error) {
      await this.#setAside(row.id, row.request.kind, error);
    }
  }

  async #setAside(id: EffectId, kind: string, error: unknown): Promise<void> {
    this.#log("an effect was set aside", { id, kind, error: String(error) });
    await this.#dispatcher.report({ type: "effects.closed", effectIds: [id], state: "set_aside", note: String(error).slice(0, 2_000) });
  }
}
