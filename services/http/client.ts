import type { IncomingMessage } from "node:http";
import type { ClientView, PairingOffer, PairingRequest } from "../../schemas/client.ts";
import type { PublicCommand, Receipt } from "../../schemas/command.ts";
import type {
  ActorKind,
  ClientId,
  CommandId,
  HandoffId,
  LinkId,
  RequestId,
  RunId,
  TaskId,
  ThreadId,
  TransferId,
} from "../../schemas/ids.ts";
import type { Refusal } from "../../schemas/refusal.ts";
import type { ResultOf } from "../../schemas/results.ts";
import type * as answers from "./client/answers.ts";
import { EnvironmentRefused } from "./client/failures.ts";
import type { FeedLine } from "./client/feed-line.ts";
import { type FollowOptions, follow } from "./client/follow.ts";
import { type Call, call, http, readAll } from "./client/request.ts";
import type { Problem } from "./problem.ts";
import type { Noun } from "./references.ts";

/** A repeat of a command under the same id does nothing; see {@link Receipt}. */
export type Accepted<C extends PublicCommand> = Extract<Receipt, { ok: true }> & { result: ResultOf[C["type"]] };
type Query = Record<string, string | number | boolean | undefined>;

type Page = { next: string | null; leftOut?: Record<string, number> } & { [member: string]: unknown };

const usualLimit = 500;
const all = 1_000_000;
const readMs = 30_000;
const commandMs = 120_000;

/**
 * Speaks to the environment that runs on a folder. Every method throws `EnvironmentUnreachable` when nobody answers and
 * `EnvironmentRefused` when the answer is a refusal. Times are milliseconds. Ends with `close`.
 */
export class LocalClient {
  readonly dir: string;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 4 });

  constructor(dir: string) {
    this.dir = dir;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Sends one command. The same `id` again returns the stored receipt. */
  async command<C extends PublicCommand>(command: C, id: CommandId): Promise<Accepted<C>> {
    return (await this.#json({
      method: "POST",
      path: "/commands",
      body: JSON.stringify({ id, command }),
      timeoutMs: commandMs,
    })) as Accepted<C>;
  }

  /** Asks it to end cleanly; it does so after its answer. */
  shutdown(): Promise<{ pid: number }> {
    return this.#json({ method: "POST", path: "/shutdown", timeoutMs: readMs });
  }

  environment(timeoutMs = readMs): Promise<answers.EnvironmentAnswer> {
    return this.#json({ method: "GET", path: "/environment", timeoutMs });
  }
  health = (): Promise<answers.HealthAnswer> => this.#get("/health");
  providers = (): Promise<answers.ProvidersAnswer> => this.#get("/providers");
  projects = (): Promise<answers.ProjectsAnswer> => this.#get("/projects");
  /** Ids that a short reference may mean. */
  resolve = (noun: Noun, query: { ref: string; within?: ThreadId }): Promise<answers.ResolveAnswer> => this.#get(`/resolve/${noun}`, query);

  threads = (query: { parent?: ThreadId; includeDeleted?: boolean; limit?: number } = {}): Promise<answers.ThreadsAnswer> =>
    this.#pages("/threads", "threads", query);
  thread = (id: ThreadId): Promise<answers.ThreadAnswer> => this.#get(`/threads/${id}`);
  items = (id: ThreadId, query: { limit?: number; newestFirst?: boolean; ownOnly?: boolean } = {}): Promise<answers.ItemsAnswer> =>
    this.#pages(`/threads/${id}/items`, "items", query);
  providerThreads = (id: ThreadId): Promise<answers.ProviderThreadsAnswer> => this.#get(`/threads/${id}/provider-threads`);
  threadRuns = (id: ThreadId): Promise<answers.RunsAnswer> => this.#pages(`/threads/${id}/runs`, "runs", { limit: all });
  checkpoints = (id: ThreadId): Promise<answers.CheckpointsAnswer> =>
    this.#pages(`/threads/${id}/checkpoints`, "checkpoints", { limit: all });
  /** A thread with `limit` items (500 when nobody says), and with all of its runs, transfers and tasks, oldest first. */
  async snapshot(id: ThreadId, query: { limit?: number; newestFirst?: boolean } = {}): Promise<answers.SnapshotAnswer> {
    const first: answers.SnapshotAnswer = await this.#get(`/threads/${id}/snapshot`, query);
    const { newestFirst = false, limit = usualLimit } = query;
    const rest = (path: string, member: string, more: Query, cursor: string | null, limit: number) =>
      cursor === null ? { [member]: [] } : this.#pages<never>(path, member, { newestFirst, ...more, cursor, limit });
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

  run = (id: RunId): Promise<answers.RunAnswer> => this.#get(`/runs/${id}`);
  /** Never waits longer than a minute in one call; the run is as it is then. */
  waitForRun(id: RunId, query: { timeoutMs: number; until?: "ended" | "ended_or_waiting" }): Promise<answers.RunWaitAnswer> {
    return this.#get(`/runs/${id}/wait`, query, query.timeoutMs + readMs);
  }

  transfers = (query: { target?: ThreadId; source?: ThreadId; limit?: number } = {}): Promise<answers.TransfersAnswer> =>
    this.#pages("/transfers", "transfers", query);
  transfer = (id: TransferId): Promise<answers.TransferAnswer> => this.#get(`/transfers/${id}`);
  handoff = (id: HandoffId): Promise<answers.HandoffAnswer> => this.#get(`/handoffs/${id}`);

  tasks = (query: { parent?: ThreadId; open?: boolean; limit?: number } = {}): Promise<answers.TasksAnswer> =>
    this.#pages("/tasks", "tasks", query);
  task = (id: TaskId): Promise<answers.TaskAnswer> => this.#get(`/tasks/${id}`);
  waitForTask(id: TaskId, query: { timeoutMs: number }): Promise<answers.TaskAnswer> {
    return this.#get(`/tasks/${id}/wait`, query, query.timeoutMs + readMs);
  }

  links = (): Promise<answers.LinksAnswer> => this.#get("/links");
  link = (id: LinkId): Promise<answers.LinkViewAnswer> => this.#get(`/links/${id}`);
  waitForAnswer(id: RequestId, query: { timeoutMs: number }): Promise<answers.RequestAnswer> {
    return this.#get(`/requests/${id}/wait`, query, query.timeoutMs + readMs);
  }

  chart = (kind: ActorKind): Promise<answers.ChartAnswer> => this.#get(`/charts/${kind}`);

  /** Programs that were let in over the network, and where they come in. */
  clients = (): Promise<{ url: string | null; clients: ClientView[] }> => this.#get("/clients");
  /** A code by which one program is let in. */
  addClient(request: PairingRequest): Promise<PairingOffer> {
    return this.#json({ method: "POST", path: "/clients/pairing", body: JSON.stringify(request), timeoutMs: readMs });
  }
  /** Takes back all that a program was given. */
  revokeClient(id: ClientId): Promise<{ clientId: ClientId }> {
    return this.#json({ method: "POST", path: `/clients/${id}/revoke`, timeoutMs: readMs });
  }

  async blob(digest: string): Promise<Buffer> {
    const incoming = await this.#call({ method: "GET", path: `/blobs/${digest}`, timeoutMs: readMs });
    await this.#check(incoming);
    return readAll(this.dir, incoming);
  }

  /** Committed changes after a commit, and from then on; see {@link follow}. */
  feed(options: FollowOptions): AsyncGenerator<FeedLine> {
    // A connection of its own: a feed never gives it back.
    return follow({ dir: this.dir, agent: new http.Agent({ maxSockets: 1 }) }, (incoming) => this.#check(incoming), options);
  }

  #call(what: Call): Promise<IncomingMessage> {
    return call({ dir: this.dir, agent: this.#agent }, what);
  }

  #get<T>(path: string, query: Query = {}, timeoutMs = readMs): Promise<T> {
    const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const search = new URLSearchParams(given).toString();
    return this.#json({ method: "GET", path: search === "" ? path : `${path}?${search}`, timeoutMs });
  }

  /** A listing of up to `limit` records, page by page. `commit` is the first page's: the feed after it tells what the others missed. */
  async #pages<T>(path: string, member: string, { limit = usualLimit, ...query }: Query & { limit?: number }): Promise<T> {
    let page: Page = await this.#get(path, { ...query, limit });
    const whole = page;
    const records = page[member] as unknown[];
    while (page.next !== null && records.length < limit) {
      page = await this.#get(path, { ...query, limit: limit - records.length, cursor: page.next });
      records.push(...(page[member] as unknown[]));
      if (whole.leftOut !== undefined) Object.assign(whole.leftOut, page.leftOut);
    }
    return { ...whole, [member]: records, next: page.next } as T;
  }

  async #json<T>(what: Call): Promise<T> {
    const incoming = await this.#call(what);
    await this.#check(incoming);
    return JSON.parse((await readAll(this.dir, incoming)).toString()) as T;
  }

  /** Throws what a refused answer says. */
  async #check(incoming: IncomingMessage): Promise<void> {
    const status = incoming.statusCode ?? 0;
    if (status >= 200 && status < 300) return;
    const text = (await readAll(this.dir, incoming)).toString();
    throw new EnvironmentRefused(refusalIn(text) ?? strange(status, text));
  }
}

/** A client of the environment on a folder; nothing is connected before its first call. */
export function connectLocal(dir: string): LocalClient {
  return new LocalClient(dir);
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
