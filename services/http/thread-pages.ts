import type { ItemId, ThreadId } from "../../schemas/ids.ts";
import type { TurnItem, VisibleItem } from "../../schemas/item.ts";
import type { Run } from "../../schemas/run.ts";
import type { Task } from "../../schemas/task.ts";
import type { ContextTransfer } from "../../schemas/transfer.ts";
import type { Environment } from "../runtime/environment-api.ts";
import { type Page, pageOf, placeOf, usualPage } from "./page.ts";

type Wish = { limit?: number | undefined; newestFirst?: boolean | undefined };
type ItemWish = Wish & { ownOnly?: boolean | undefined; cursor?: ItemId | undefined };

/** Pages of what belongs to one thread. */
export class ThreadPages {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  items(id: ThreadId, { limit = usualPage, newestFirst = false, ownOnly = false, cursor }: ItemWish): Page<VisibleItem> {
    const { threads } = this.#environment;
    const begin = placeOf(cursor, (item) => this.#shown(id, threads.item(item as ItemId), ownOnly));
    return pageOf<VisibleItem>(limit, begin, (after, most) =>
      threads.items(id, { limit: most, newestFirst, ownOnly, ...(after !== undefined && { after }) }),
    );
  }

  runs(id: ThreadId, { limit = usualPage, newestFirst = false }: Wish, begin?: Run): Page<Run> {
    return pageOf<Run>(limit, begin, (after, most) =>
      this.#environment.threads.runs(id, { limit: most, newestFirst, ...(after !== undefined && { after: after.id }) }),
    );
  }

  transfers(id: ThreadId, { limit = usualPage, newestFirst = false }: Wish): Page<ContextTransfer> {
    return pageOf<ContextTransfer>(limit, undefined, (after, most) =>
      this.#environment.transfers.list({ target: id, newestFirst, limit: most, ...(after !== undefined && { after: after.id }) }),
    );
  }

  tasks(id: ThreadId, { limit = usualPage, newestFirst = false }: Wish): Page<Task> {
    return pageOf<Task>(limit, undefined, (after, most) =>
      this.#environment.tasks.list({ parent: id, newestFirst, limit: most, ...(after !== undefined && { after: after.id }) }),
    );
  }

  /** The item, where the thread shows it: its own, or of a thread above it up to where it was forked. */
  #shown(id: ThreadId, item: TurnItem | null, ownOnly: boolean): VisibleItem | null {
    let at: ThreadId | null = item === null ? null : id;
    let bound = Number.MAX_SAFE_INTEGER;
    while (item !== null && at !== null) {
      if (item.threadId === at) return item.runOrdinal <= bound ? { ...item, inherited: at !== id } : null;
      const inherited: { threadId: ThreadId; ordinal: number } | null = ownOnly
        ? null
        : (this.#environment.threads.get(at)?.inherited ?? null);
      [at, bound] = [inherited?.threadId ?? null, inherited?.ordinal ?? 0];
    }
    return null;
  }
}
