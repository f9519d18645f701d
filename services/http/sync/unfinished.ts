import type { ThreadId } from "../../../schemas/ids.ts";
import type { ThreadPatch } from "../../../schemas/thread-view.ts";
import type { Environment } from "../../runtime/environment-api.ts";

/** The unfinished text of a thread's active run, told as what has come to it since it was told last. */
export class Unfinished {
  readonly #environment: Environment;
  readonly #id: ThreadId;
  /** Undefined: what the client has of an earlier connection is not known. */
  #told: string | null | undefined;

  constructor(environment: Environment, id: ThreadId) {
    this.#environment = environment;
    this.#id = id;
  }

  /** Whether a text may grow without a commit. */
  get isOpen(): boolean {
    return this.#activeRun() !== null;
  }

  /** Undefined: it is as it was told. */
  change(): ThreadPatch["unfinished"] {
    const runId = this.#activeRun();
    const text = (runId === null ? null : this.#environment.runs.progress(runId)) || null;
    const told = this.#told;
    if (text === told) return undefined;
    this.#told = text;
    if (text === null) return null;
    if (told == null || !text.startsWith(told)) return { text };
    return { keep: told.length, text: text.slice(told.length) };
  }

  #activeRun() {
    return this.#environment.threads.get(this.#id)?.activeRunId ?? null;
  }
}
