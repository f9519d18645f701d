import type { PublicCommand, Receipt } from "../../../schemas/command.ts";
import type { EnvironmentSnapshot, OlderThreads } from "../../../schemas/environment-view.ts";
import type {
  ActorKind,
  CommandId,
  HandoffId,
  ItemId,
  LinkId,
  MoveId,
  RequestId,
  RunId,
  TaskId,
  ThreadId,
  TransferId,
} from "../../../schemas/ids.ts";
import type { Refusal } from "../../../schemas/refusal.ts";
import type { ResultOf } from "../../../schemas/results.ts";
import type { OlderTurns, ThreadSnapshot } from "../../../schemas/thread-view.ts";
import type { Problem } from "../problem.ts";
import type { Noun } from "../references.ts";
import type * as answers from "./answers.ts";
import { applyEnvironmentPatch } from "./apply-environment.ts";
import { applyThreadPatch } from "./apply-thread.ts";
import { EnvironmentRefused } from "./failures.ts";
import type { FeedLine } from "./feed-line.ts";
import { type FollowOptions, follow, linesOf } from "./follow.ts";
import { type FollowViewOptions, followView, type ViewKind } from "./follow-view.ts";
import type { Answered, Call, Transport } from "./transport.ts";

/** A repeat of a command under the same id does nothing; see {@link Receipt}. */
export type Accepted<C extends PublicCommand> = Extract<Receipt, { ok: true }> & { result: ResultOf[C["type"]] };
type Query = Record<string, string | number | boolean | undefined>;
type Page = { next: string | null; leftOut?: Record<string, number> } & { [member: string]: unknown };
/** Members of an item's body that can be large. */
export type ItemPart = "content" | "output" | "diff" | "arguments" | "result";

const usualLimit = 500;
const all = 1_000_000;
const readMs = 30_000;
const commandMs = 120_000;
const purgeMs = 1_800_000;

/**
 * Speaks to one environment. Every method throws `EnvironmentUnreachable` when nobody answers and `EnvironmentRefused` when
 * the answer is a refusal. Times are milliseconds. A listing gives as many records as `limit` says (500 when it does not),
 * read page by page, and `next`, with which it goes on. Ends with `close`.
 */
export class EnvironmentClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  close(): void {
    this.#transport.close();
  }

  /** Sends one command. The same `id` again returns the stored receipt, so whoever may have to say it again names one. */
  async command<C extends PublicCommand>(command: C, id = `cmd:${globalThis.crypto.randomUUID()}` as CommandId): Promise<Accepted<C>> {
    return this.post<Accepted<C>>("/commands", { id, command }, commandMs);
  }

  environment(timeoutMs = readMs): Promise<answers.EnvironmentAnswer> {
    return this.get("/environment", {}, timeoutMs);
  }
  health = (): Promise<answers.HealthAnswer> => this.get("/health");
  /** Looks through every worktree, which may take a while. */
  workspaces = (): Promise<answers.WorkspacesAnswer> => this.get("/workspaces", {}, commandMs);
  /** Where a text is; looks through everything that is kept. */
  lookForText = (text: string): Promise<answers.PurgeAnswer> => this.post("/purge/look", { text }, purgeMs);
  /** Takes it out for good; `report.left` says where it stays. */
  purgeText = (text: string): Promise<answers.PurgeAnswer> => this.post("/purge", { text }, purgeMs);
  difference = (id: ThreadId, query: { run?: RunId; maxChars?: number } = {}): Promise<answers.DifferenceAnswer> =>
    this.get(`/threads/${id}/diff`, query, commandMs);
  undoPreview = (id: ThreadId, query: { to?: RunId | "start" } = {}): Promise<answers.UndoPreviewAnswer> =>
    this.get(`/threads/${id}/undo`, query, commandMs);
  providers = (): Promise<answers.ProvidersAnswer> => this.get("/providers");
  projects = (): Promise<answers.ProjectsAnswer> => this.get("/projects");
  /** Ids that a short reference may mean. */
  resolve = (noun: Noun, query: { ref: string; within?: ThreadId }): Promise<answers.ResolveAnswer> => this.get(`/resolve/${noun}`, query);

  threads = (
    query: { parent?: ThreadId; includeDeleted?: boolean; limit?: number; cursor?: string } = {},
  ): Promise<answers.ThreadsAnswer> => this.#pages("/threads", "threads", query);
  thread = (id: ThreadId): Promise<answers.ThreadAnswer> => this.get(`/threads/${id}`);
  items = (
    id: ThreadId,
    query: { limit?: number; newestFirst?: boolean; ownOnly?: boolean; cursor?: string } = {},
  ): Promise<answers.ItemsAnswer> => this.#pages(`/threads/${id}/items`, "items", query);
  /** A thread as a bundle's text, which another environment can import. */
  threadBundle = async (id: ThreadId): Promise<string> => new TextDecoder().decode(await this.#bytes(`/threads/${id}/bundle`));
  providerThreads = (id: ThreadId): Promise<answers.ProviderThreadsAnswer> => this.get(`/threads/${id}/provider-threads`);
  threadRuns = (id: ThreadId): Promise<answers.RunsAnswer> => this.#pages(`/threads/${id}/runs`, "runs", { limit: all });
  checkpoints = (id: ThreadId): Promise<answers.CheckpointsAnswer> =>
    this.#pages(`/threads/${id}/checkpoints`, "checkpoints", { limit: all });

  /** A thread with `limit` of its items, and with all of its runs, transfers and tasks, oldest first. */
  async snapshot(id: ThreadId, query: { limit?: number; newestFirst?: boolean } = {}): Promise<answers.SnapshotAnswer> {
    const first: answers.SnapshotAnswer = await this.get(`/threads/${id}/snapshot`, query);
    const { newestFirst = false, limit = usualLimit } = query;
    const rest = (path: string, member: string, more: Query, cursor: string | null, limit: number) =>
      cursor === null || limit <= 0 ? { [member]: [] } : this.#pages<never>(path, member, { newestFirst, ...more, cursor, limit });
    const items = await rest(`/threads/${id}/items`, "items", {}, first.next.items, limit - first.items.length);
    const runs = await rest(`/threads/${id}/runs`, "runs", {}, first.next.runs, all);
    const transfers = await rest("/transfers", "transfers", { target: id }, first.next.transfers, all);
    const tasks = await rest("/tasks", "tasks", { parent: id }, first.next.tasks, all);
    const ordered = <T>(records: T[]) => (newestFirst ? records.reverse() : records);
    return {
      ...first,
      items: [...first.items, ...(items.items ?? [])],
      runs: ordered([...first.runs, ...(runs.runs ?? [])]),
      transfers: ordered([...first.transfers, ...(transfers.transfers ?? [])]),
      tasks: ordered([...first.tasks, ...(tasks.tasks ?? [])]),
    };
  }

  item = (id: ItemId): Promise<answers.ItemAnswer> => this.get(`/items/${id}`);
  /** A text of an item, whole, however large. */
  itemText = async (id: ItemId, part: ItemPart): Promise<string> =>
    new TextDecoder().decode(await this.#bytes(`/items/${id}/content/${part}`));
  /** A large text by the digest of its reference. */
  blob = (digest: string): Promise<Uint8Array> => this.#bytes(`/blobs/${digest}`);

  run = (id: RunId): Promise<answers.RunAnswer> => this.get(`/runs/${id}`);
  /** Never waits longer than a minute in one call; the run is as it is then. */
  waitForRun(id: RunId, query: { timeoutMs: number; until?: "ended" | "ended_or_waiting" }): Promise<answers.RunWaitAnswer> {
    return this.get(`/runs/${id}/wait`, query, query.timeoutMs + readMs);
  }

  transfers = (
    query: { target?: ThreadId; source?: ThreadId; newestFirst?: boolean; limit?: number; cursor?: string } = {},
  ): Promise<answers.TransfersAnswer> => this.#pages("/transfers", "transfers", query);
  transfer = (id: TransferId): Promise<answers.TransferAnswer> => this.get(`/transfers/${id}`);
  handoff = (id: HandoffId): Promise<answers.HandoffAnswer> => this.get(`/handoffs/${id}`);

  tasks = (query: { parent?: ThreadId; open?: boolean; limit?: number; cursor?: string } = {}): Promise<answers.TasksAnswer> =>
    this.#pages("/tasks", "tasks", query);
  task = (id: TaskId): Promise<answers.TaskAnswer> => this.get(`/tasks/${id}`);
  waitForTask(id: TaskId, query: { timeoutMs: number }): Promise<answers.TaskAnswer> {
    return this.get(`/tasks/${id}/wait`, query, query.timeoutMs + readMs);
  }

  /** All that waits for a person, longest first. */
  needs = (): Promise<answers.NeedsAnswer> => this.get("/needs");

  moves = (query: { thread?: ThreadId; open?: boolean; limit?: number; cursor?: string } = {}): Promise<answers.MovesAnswer> =>
    this.#pages("/moves", "moves", query);
  move = (id: MoveId): Promise<answers.MoveAnswer> => this.get(`/moves/${id}`);
  waitForMove(id: MoveId, query: { timeoutMs: number }): Promise<answers.MoveAnswer> {
    return this.get(`/moves/${id}/wait`, query, query.timeoutMs + readMs);
  }

  links = (): Promise<answers.LinksAnswer> => this.get("/links");
  link = (id: LinkId): Promise<answers.LinkViewAnswer> => this.get(`/links/${id}`);
  waitForAnswer(id: RequestId, query: { timeoutMs: number }): Promise<answers.RequestAnswer> {
    return this.get(`/requests/${id}/wait`, query, query.timeoutMs + readMs);
  }

  chart = (kind: ActorKind): Promise<answers.ChartAnswer> => this.get(`/charts/${kind}`);

  /** Committed changes after a commit, and from then on, also across lost connections; see {@link follow}. */
  feed(options: FollowOptions): AsyncGenerator<FeedLine> {
    return follow(this.#transport, (answered) => this.#check(answered), options);
  }

  /** What a person looks at of a thread: its newest turns, and what it takes part in. Its reducer is `applyThreadPatch`. */
  viewThread = (id: ThreadId, query: { limit?: number } = {}): Promise<ThreadSnapshot> => this.get(`/threads/${id}/view`, query);
  /** Turns before those of a view, by its `olderThan`; `withOlderTurns` puts them in front. */
  olderTurns = (id: ThreadId, query: { before: string; limit?: number }): Promise<OlderTurns> =>
    this.get(`/threads/${id}/view/older`, query);
  /** The view, whole, and again after everything that changes it; see {@link followView}. */
  followThread(id: ThreadId, { limit, ...options }: FollowViewOptions & { limit?: number } = {}): AsyncGenerator<ThreadSnapshot> {
    const snapshot = () => this.viewThread(id, limit === undefined ? {} : { limit });
    return this.#view({ snapshot, livePath: `/threads/${id}/live`, apply: applyThreadPatch }, options);
  }

  /** Threads as lines of a list, newest first, open tasks and links. Its reducer is `applyEnvironmentPatch`. */
  viewEnvironment = (query: { limit?: number } = {}): Promise<EnvironmentSnapshot> => this.get("/view", query);
  /** Threads behind those of a view, by its `olderThan`; `withOlderThreads` puts them behind. */
  olderThreads = (query: { before: ThreadId; limit?: number }): Promise<OlderThreads> => this.get("/view/older", query);
  followEnvironment({ limit, ...options }: FollowViewOptions & { limit?: number } = {}): AsyncGenerator<EnvironmentSnapshot> {
    const snapshot = () => this.viewEnvironment(limit === undefined ? {} : { limit });
    return this.#view({ snapshot, livePath: "/live", apply: applyEnvironmentPatch }, options);
  }

  #view<V extends { commit: number }, P extends { commit: number }>(kind: ViewKind<V, P>, options: FollowViewOptions): AsyncGenerator<V> {
    return followView(this.#transport, (answered) => this.#check(answered), kind, options);
  }

  protected get<T>(path: string, query: Query = {}, timeoutMs = readMs): Promise<T> {
    const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const search = new URLSearchParams(given).toString();
    return this.#json({ method: "GET", path: search === "" ? path : `${path}?${search}`, timeoutMs });
  }

  protected post<T>(path: string, body?: unknown, timeoutMs = readMs): Promise<T> {
    return this.#json({ method: "POST", path, ...(body !== undefined && { body: JSON.stringify(body) }), timeoutMs });
  }

  /** An answer that comes in lines, over a connection of its own. */
  protected async *lines<T>(path: string, body: unknown): AsyncGenerator<T> {
    const answered = await this.#transport.call({ method: "POST", path, body: JSON.stringify(body), timeoutMs: commandMs }, true);
    await this.#check(answered);
    yield* linesOf<T>(answered);
  }

  /** A listing page by page. `commit` is the first page's: the feed after it tells what the others already show. */
  async #pages<T>(path: string, member: string, { limit = usualLimit, ...query }: Query & { limit?: number }): Promise<T> {
    let page: Page = await this.get(path, { ...query, limit });
    const whole = page;
    const records = page[member] as unknown[];
    while (page.next !== null && records.length < limit) {
      page = await this.get(path, { ...query, limit: limit - records.length, cursor: page.next });
      records.push(...(page[member] as unknown[]));
      if (whole.leftOut !== undefined) Object.assign(whole.leftOut, page.leftOut);
    }
    return { ...whole, [member]: records, next: page.next } as T;
  }

  async #json<T>(what: Call): Promise<T> {
    const answered = await this.#transport.call(what);
    await this.#check(answered);
    return JSON.parse(new TextDecoder().decode(await answered.bytes())) as T;
  }

  async #bytes(path: string): Promise<Uint8Array> {
    const answered = await this.#transport.call({ method: "GET", path, timeoutMs: readMs });
    await this.#check(answered);
    return answered.bytes();
  }

  /** Throws what a refused answer says. */
  async #check(answered: Answered): Promise<void> {
    const { status } = answered;
    if (status >= 200 && status < 300) return;
    const text = new TextDecoder().decode(await answered.bytes());
    throw new EnvironmentRefused(refusalIn(text) ?? strange(status, text));
  }
}

function refusalIn(text: string): Refusal | null {
  try {
    const { code, reason, detail, hint, details } = JSON.parse(text) as Partial<Problem>;
    if (code === undefined || reason === undefined) return null;
    return { code, reason, message: detail ?? "", hint: hint ?? "", ...(details !== undefined && { details }) };
  } catch {
    return null;
  }
}

const strange = (status: number, text: string): Refusal => ({
  code: "orchestration_error",
  reason: "strange_answer",
  message: `the environment answered with status ${status}: ${text.slice(0, 200)}`,
  hint: "Report it with the output of ropewalk doctor.",
});
