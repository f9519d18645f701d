import type { ItemId, ThreadId } from "../../../schemas/ids.ts";
import type { OlderTurns, ThreadSnapshot } from "../../../schemas/thread-view.ts";
import { withOlderTurns } from "../../http/client/apply-thread.ts";
import { EnvironmentRefused, EnvironmentUnreachable } from "../../http/client/failures.ts";
import type { LocalClient } from "../../http/client.ts";
import { shortReferences } from "../short-references.ts";

/** Pages that are read to close a gap; what is still missing then is said. */
const mostPages = 20;
const pageItems = 40;
const retryMs = 250;
const ids = /(thread|task|transfer|run):(import:[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})/g;

/** What of a thread is read besides its view, waiting for an environment that is away. */
export class ThreadReader {
  readonly #client: LocalClient;
  readonly #id: ThreadId;
  readonly #over: AbortSignal;
  readonly #short = new Map<string, string>();

  constructor(client: LocalClient, id: ThreadId, over: AbortSignal) {
    this.#client = client;
    this.#id = id;
    this.#over = over;
  }

  /** The whole text of what an agent said at length. */
  textOf(id: string): Promise<string> {
    return this.#patiently(() => this.#client.itemText(id as ItemId, "content"));
  }

  older(before: string): Promise<OlderTurns> {
    return this.#client.olderTurns(this.#id, { before, limit: pageItems });
  }

  /** The view with older turns, as far back as is known already (and not endlessly). */
  async joined(view: ThreadSnapshot, isKnown: (view: ThreadSnapshot) => boolean): Promise<ThreadSnapshot> {
    let joined = view;
    for (let pages = 0; pages < mostPages && joined.olderThan != null && !isKnown(joined); pages += 1) {
      const before = joined.olderThan;
      joined = withOlderTurns(joined, await this.#patiently(() => this.#client.olderTurns(this.#id, { before })));
    }
    return joined;
  }

  /** The line with its ids shortened, where the environment is there to say how. */
  async shortened(line: string): Promise<string> {
    const found = [...new Set(line.match(ids) ?? [])];
    try {
      const unknown = found.filter((id) => !this.#short.has(id));
      if (unknown.length > 0) for (const [id, short] of await shortReferences(this.#client, unknown)) this.#short.set(id, short);
    } catch (error) {
      if (!(error instanceof EnvironmentUnreachable || error instanceof EnvironmentRefused)) throw error;
    }
    return found.reduce((shown, id) => shown.replaceAll(id, this.#short.get(id) ?? id), line);
  }

  async #patiently<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await read();
      } catch (error) {
        if (!(error instanceof EnvironmentUnreachable) || this.#over.aborted) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}
