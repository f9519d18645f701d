import type { ThreadId } from "../../schemas/ids.ts";
import type { RetentionConfig, RetentionView } from "../../schemas/retention.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { forksThatNeed } from "./dependents.ts";
import type { Door } from "./door.ts";
import type { Clock } from "./ports/clock.ts";
import type { Store } from "./ports/store.ts";
import type { Workspaces } from "./ports/workspaces.ts";
import { asThread } from "./typed-actors.ts";

const dayMs = 86_400_000;
const readAtOnce = 100;
const namedAtMost = 100;
/** So many are asked for at once; the others that are due after a pause, so that a first look at many holds nobody up. */
const perLook = 10;
const pauseMs = 60_000;

type RetentionParts = {
  settings: RetentionConfig | undefined;
  store: Store;
  clock: Clock;
  log: { info(facts: object, text: string): void; warn(facts: object, text: string): void };
  /** Where the person's own commands come in, whose setting it is: refused where they would be. */
  door: Pick<Door, "dispatch">;
  workspaces: Pick<Workspaces, "unsaved">;
};

/**
 * Lets go of what the settings say is kept no longer (decision 0119): at the start, then once a day. Without a setting it
 * does nothing at all, not even wait.
 */
export class Retention {
  readonly #o: RetentionParts;
  readonly #days: number | null;
  #seen: Omit<RetentionView, "deletedThreadsDays" | "backupsKept"> = { ...nothing, lastLookAt: null, nextLookAt: null };
  #looking: Promise<void> = Promise.resolve();
  #cancel = () => {};
  #isStopped = false;

  constructor(parts: RetentionParts) {
    this.#o = parts;
    this.#days = parts.settings?.deletedThreadsDays ?? null;
  }

  start(): this {
    if (this.#days !== null && !this.#isStopped) this.#looking = this.#look(this.#days * dayMs);
    return this;
  }

  /** Resolves when nothing is asked for any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#looking;
  }

  view(): RetentionView {
    return { deletedThreadsDays: this.#days, backupsKept: this.#o.settings?.backupsKept ?? null, ...this.#seen };
  }

  async #look(keptMs: number): Promise<void> {
    const { clock, log } = this.#o;
    let isMore = false;
    try {
      isMore = await this.#letGo(clock.now() - keptMs, keptMs);
    } catch (error) {
      log.warn({ error: error instanceof Error ? error.message : String(error) }, "retention: could not look, tried again later");
    }
    if (this.#isStopped) return;
    const wait = isMore ? pauseMs : dayMs;
    this.#seen = { ...this.#seen, lastLookAt: clock.now(), nextLookAt: clock.now() + wait };
    this.#cancel = clock.after(wait, () => this.start());
  }

  /** True when more is due than one look asks for. */
  async #letGo(before: number, keptMs: number): Promise<boolean> {
    const { store, log } = this.#o;
    const seen: typeof nothing = { ...nothing, heldThreads: [] };
    const asked: ThreadId[] = [];
    let isMore = false;
    for (let after: ThreadId | null | undefined; after !== null && !this.#isStopped; ) {
      const page = this.#deleted(after);
      for (const thread of page) {
        const deletedAt = thread.purge === undefined ? store.deletedAt(thread.id) : null;
        if (deletedAt === null) continue;
        if (deletedAt > before) {
          seen.waiting += 1;
          const dueAt = deletedAt + keptMs;
          if (seen.next === null || dueAt < seen.next.dueAt) seen.next = { threadId: thread.id, dueAt };
          continue;
        }
        if (this.#isStopped || asked.length === perLook) {
          isMore = true;
          continue;
        }
        const reason = await this.#purge(thread);
        if (reason === null) asked.push(thread.id);
        else if (++seen.held <= namedAtMost) seen.heldThreads.push({ threadId: thread.id, reason });
      }
      after = page.length === readAtOnce ? page.at(-1)?.id : null;
      // Others have their turn between two pages.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#seen = { ...this.#seen, ...seen };
    if (asked.length > 0) log.info({ threads: asked, days: this.#days }, `retention: ${asked.length} deleted threads are purged`);
    if (seen.held > 0) log.info({ threads: seen.heldThreads }, `retention: ${seen.held} deleted threads stay for now`);
    return isMore;
  }

  #deleted(after: ThreadId | undefined): AppThread[] {
    const page = { limit: readAtOnce, ...(after !== undefined && { after }) };
    return this.#o.store.actorsBy({ kind: "thread", statuses: ["deleted"], ...page }).map(asThread);
  }

  /** Null when it was asked for, else why it stays. */
  async #purge(thread: AppThread): Promise<string | null> {
    const { store, workspaces, door } = this.#o;
    if (thread.activeRunId !== null) return "thread_running";
    // What is refused for years is not asked for every day: each answer would be kept.
    if (forksThatNeed(store, thread.id).length > 0) return "has_forks";
    // Its worktree was left because somebody had worked in it; with the thread's content would go what tells what that is.
    if ((await workspaces.unsaved(thread.id)) !== null) return "uncommitted_work";
    const receipt = await door.dispatch({ type: "thread.purge", threadId: thread.id });
    return receipt.ok ? null : receipt.refusal.reason;
  }
}

const nothing: Pick<RetentionView, "waiting" | "next" | "held" | "heldThreads"> = { waiting: 0, next: null, held: 0, heldThreads: [] };
