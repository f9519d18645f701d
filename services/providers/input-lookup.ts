import type { AttemptId, RunId } from "../../schemas/ids.ts";
import { folderOf } from "../runtime/folders.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Store } from "../runtime/ports/store.ts";
import { runFrom, threadFrom } from "../runtime/typed-actors.ts";
import type { LookupAnswer, ProviderAdapter } from "./contract.ts";
import { within } from "./within.ts";

/** How long a provider may take to say what became of an input; after that nobody can say. */
const lookupMs = 15_000;

const unknown: LookupAnswer = { outcome: "unknown" };

/** Asks providers what became of inputs that may or may not have reached them (contract §7). */
export class InputLookup {
  readonly #adapters: ReadonlyMap<string, ProviderAdapter>;
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(options: { adapters: ReadonlyMap<string, ProviderAdapter>; store: Store; clock: Clock }) {
    this.#adapters = options.adapters;
    this.#store = options.store;
    this.#clock = options.clock;
  }

  becameOf(runId: RunId, attemptId: AttemptId): Promise<LookupAnswer> {
    const run = runFrom(this.#store, runId);
    const thread = run === null ? null : threadFrom(this.#store, run.threadId);
    if (run?.plan == null || thread === null) return Promise.resolve(unknown);
    const { provider, open } = run.plan;
    const nativeRef = open.kind === "resume" ? open.nativeRef : null;
    const query = { cwd: folderOf(this.#store, thread), threadId: thread.id, nativeRef, attemptId };
    const asked = this.#adapters.get(provider.instance)?.lookup(query) ?? Promise.resolve(unknown);
    return within<LookupAnswer>(
      this.#clock,
      lookupMs,
      asked.catch(() => unknown),
      () => unknown,
    );
  }
}
