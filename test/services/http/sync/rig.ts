import type { ThreadId } from "../../../../schemas/ids.ts";
import { EnvironmentLiveLine, ThreadLiveLine } from "../../../../schemas/live.ts";
import { EnvironmentChanges } from "../../../../services/http/sync/environment-changes.ts";
import { type LiveSettings, type LiveSource, liveStream } from "../../../../services/http/sync/live.ts";
import { threadSource } from "../../../../services/http/sync/thread-live.ts";
import type { Environment } from "../../../../services/runtime/environment-api.ts";

/** A live connection without HTTP in between, read line by line; every line is what the schema says. */
export class Lines<L extends { type: string; commit: number }> {
  readonly seen: L[] = [];
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #parse: (line: unknown) => unknown;
  readonly #stop = new AbortController();
  #rest = "";

  constructor(environment: Environment, source: LiveSource, settings: Partial<LiveSettings>, parse: (line: unknown) => unknown) {
    const all = { heartbeatMs: 15_000, coalesceMs: 0, signal: this.#stop.signal, ...settings };
    this.#reader = liveStream(environment, source, null, all).getReader();
    this.#parse = parse;
  }

  /** Reads until `enough` says so of a line, or the end. Returns the lines read. */
  async until(enough: (line: L) => boolean): Promise<L[]> {
    const from = this.seen.length;
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return this.seen.slice(from);
      const lines = (this.#rest + new TextDecoder().decode(value)).split("\n");
      this.#rest = lines.pop() ?? "";
      const read = lines.map((line) => JSON.parse(line) as L);
      for (const line of read) this.#parse(line);
      this.seen.push(...read);
      if (read.some(enough)) return this.seen.slice(from);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#reader.cancel();
  }
}

export function followThread(
  environment: Environment,
  id: ThreadId,
  after: number,
  settings: Partial<LiveSettings> = {},
): Lines<ThreadLiveLine> {
  return new Lines(environment, threadSource(environment, id, after), settings, (line) => ThreadLiveLine.parse(line));
}

export function followEnvironment(
  environment: Environment,
  after: number,
  settings: Partial<LiveSettings> = {},
): Lines<EnvironmentLiveLine> {
  return new Lines(environment, new EnvironmentChanges(environment, after), settings, (line) => EnvironmentLiveLine.parse(line));
}

export const isSynchronized = (line: { type: string }): boolean => line.type === "synchronized";
