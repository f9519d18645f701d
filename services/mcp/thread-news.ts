import type { Change } from "../../schemas/feed.ts";
import type { RunId, ThreadId } from "../../schemas/ids.ts";
import type { Environment } from "../runtime/environment-api.ts";

/** Many commits in a row are one piece of news. Milliseconds. */
const coalesceMs = 200;

type Listener = (threadId: ThreadId) => void;

/** Which threads changed, told to whoever listens, each once per moment. Follows the commits only while somebody does. */
export class ThreadNews {
  readonly #environment: Environment;
  readonly #listeners = new Set<Listener>();
  readonly #changed = new Set<ThreadId>();
  #stop: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Returns how to stop listening. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#stop ??= this.#environment.subscribe((_commit, changes) => this.#take(changes));
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stop?.();
      this.#stop = null;
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      this.#changed.clear();
    };
  }

  #take(changes: readonly Change[]): void {
    for (const change of changes) {
      const id = this.#threadOf(change);
      if (id !== null) this.#changed.add(id);
    }
    if (this.#changed.size > 0) this.#timer ??= setTimeout(() => this.#tell(), coalesceMs);
  }

  #tell(): void {
    this.#timer = null;
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const id of changed) for (const listener of this.#listeners) listener(id);
  }

  #threadOf(change: Change): ThreadId | null {
    if (change.type === "item") return change.threadId;
    if (change.kind === "thread") return change.actorId as ThreadId;
    return change.kind === "run" ? (this.#environment.runs.get(change.actorId as RunId)?.threadId ?? null) : null;
  }
}
