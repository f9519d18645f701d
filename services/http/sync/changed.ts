import type { ActorId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import type { ChangedActor, JournalPlace } from "../../runtime/ports/store.ts";
import { bounds } from "./bounds.ts";

const behindAll = Number.MAX_SAFE_INTEGER;

/** Which actors have changed since a commit, of those that a view is about; each once, with what it is found by. */
export class Changed {
  readonly #environment: Environment;
  readonly #isShown: (change: ChangedActor) => boolean;
  #place: JournalPlace;
  #scanned = 0;
  #actors = new Map<ActorId, ChangedActor>();

  constructor(environment: Environment, after: number, isShown: (change: ChangedActor) => boolean) {
    this.#environment = environment;
    this.#place = { commit: after, index: behindAll };
    this.#isShown = isShown;
  }

  /**
   * Reads the journal on by one slice. `all`: everything up to the newest commit has been looked at. `behind`: there is more
   * than a client is told in patches.
   */
  step(): "all" | "more" | "behind" {
    const { lastCommit, sync } = this.#environment;
    if (this.#place.commit >= lastCommit) return "all";
    const rows = sync.changedAfter(this.#place, bounds.sliceChanges);
    for (const row of rows) if (this.#isShown(row)) this.#actors.set(row.id, row);
    this.#scanned += rows.length;
    if (this.#scanned > bounds.scannedChanges || this.#actors.size > bounds.changedRecords) return "behind";
    const last = rows.at(-1);
    if (last !== undefined && rows.length === bounds.sliceChanges) {
      this.#place = last;
      return "more";
    }
    this.#place = { commit: lastCommit, index: behindAll };
    return "all";
  }

  /** What was found since it was taken last. */
  take(): ChangedActor[] {
    const taken = [...this.#actors.values()];
    this.#actors = new Map();
    this.#scanned = 0;
    return taken;
  }
}
