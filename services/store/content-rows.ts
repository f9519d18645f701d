import type { SQLInputValue } from "node:sqlite";
import type { ContentCell, ContentPage, ContentStore } from "../runtime/ports/content.ts";
import { StoreFailure } from "../runtime/ports/store.ts";
import type { Statements } from "./statements.ts";

type Place = { key: string[]; columns: Record<string, ContentCell["kind"]>; of?: string; isMessages?: boolean };

/** Where content is. A test holds this to the tables that there are. */
const places: Readonly<Record<string, Place>> = {
  meta: { key: ["key"], columns: { value: "text" } },
  blobs: { key: ["digest"], columns: { bytes: "bytes" } },
  items: { key: ["position"], columns: { body: "json" }, of: "thread_id" },
  progress: { key: ["run_id"], columns: { text: "text" }, of: "run_id" },
  journal: { key: ["commit_seq", "idx"], columns: { event: "json" }, of: "actor_id" },
  actors: { key: ["id"], columns: { context: "json" }, of: "id" },
  actor_history: { key: ["actor_id", "seq"], columns: { context: "json" }, of: "actor_id" },
  checkpoints: { key: ["id"], columns: { body: "json" }, of: "thread_id" },
  handoffs: { key: ["id"], columns: { body: "json" }, of: "transfer_id" },
  provider_threads: { key: ["id"], columns: { body: "json" }, of: "thread_id" },
  projects: { key: ["id"], columns: { body: "json" } },
  effects: { key: ["id"], columns: { request: "json", note: "text" } },
  receipts: { key: ["command_id"], columns: { response: "json" } },
  links: { key: ["link_id"], columns: { body: "json" }, of: "link_id" },
  outbox: { key: ["link_id", "epoch", "number"], columns: { body: "json" }, of: "link_id", isMessages: true },
  incoming_requests: { key: ["environment_id", "request_id"], columns: { answer: "json" } },
  outgoing_requests: { key: ["request_id"], columns: { answer: "json" } },
  kept_messages: { key: ["link_id", "epoch", "number"], columns: { raw: "text", reason: "text" }, of: "link_id" },
};

/** Tables of ids, numbers and digests alone. */
export const withoutContent: readonly string[] = ["commits", "imports", "sqlite_sequence"];
export const contentTables: readonly string[] = Object.keys(places);

/** Keys that somebody else may have chosen the words of. */
const chosenKeys: readonly [table: string, column: string][] = [
  ["receipts", "command_id"],
  ["items", "native_id"],
  ["meta", "key"],
];

/** Reads and rewrites content wherever it is in a store's file. */
export class ContentRows implements ContentStore {
  readonly #statements: Statements;
  /** Those that this file has: one of an earlier version may have fewer. */
  readonly tables: readonly { name: string; isMessages: boolean }[];

  constructor(statements: Statements) {
    this.#statements = statements;
    const there = statements.all<{ name: string }>("select name from sqlite_master where type = 'table'").map(({ name }) => name);
    this.tables = Object.entries(places)
      .filter(([name]) => there.includes(name))
      .map(([name, place]) => ({ name, isMessages: place.isMessages ?? false }));
  }

  page(table: string, after: (string | number)[] | null, rows: number): ContentPage {
    const place = placeOf(table);
    const keys = place.key.join(", ");
    const behind = after === null ? "" : `where (${keys}) > (${after.map(() => "?").join(", ")})`;
    const columns = Object.keys(place.columns);
    const what = [...place.key, ...columns, ...(place.of === undefined ? [] : [`${place.of} as of_`])].join(", ");
    const found = this.#statements.all<Record<string, SQLInputValue>>(
      `select ${what} from ${table} ${behind} order by ${keys} limit ?`,
      ...(after ?? []),
      rows,
    );
    const keyOf = (row: Record<string, SQLInputValue>) => place.key.map((column) => row[column] as string | number);
    const cells = found.flatMap((row) =>
      columns.flatMap((column): ContentCell[] => {
        const value = row[column];
        if (typeof value !== "string" && !(value instanceof Uint8Array)) return [];
        const kind = place.columns[column] as ContentCell["kind"];
        return [{ table, key: keyOf(row), column, kind, of: (row.of_ as string | undefined) ?? null, value }];
      }),
    );
    const last = found.at(-1);
    return { cells, next: found.length < rows || last === undefined ? null : keyOf(last) };
  }

  keysWith(text: string): string[] {
    return chosenKeys
      .filter(
        ([table, column]) =>
          this.tables.some(({ name }) => name === table) &&
          this.#statements.get(`select 1 from ${table} where ${column} is not null and instr(${column}, ?) > 0 limit 1`, text) !==
            undefined,
      )
      .map(([table, column]) => `${table}.${column}`);
  }

  write(changes: readonly ContentCell[], { add = [], drop = [] }: Parameters<ContentStore["write"]>[1] = {}): void {
    this.#statements.exec("pragma secure_delete = on");
    this.#statements.transaction(() => {
      for (const { digest, bytes } of add) this.#statements.run("insert into blobs values (?, ?) on conflict do nothing", digest, bytes);
      for (const { table, key, column, value } of changes) {
        const where = placeOf(table)
          .key.map((name) => `${name} = ?`)
          .join(" and ");
        this.#statements.run(`update ${table} set ${column} = ? where ${where}`, value, ...key);
      }
      for (const digest of drop) this.#statements.run("delete from blobs where digest = ?", digest);
    });
  }

  compact(): void {
    this.#statements.exec("pragma secure_delete = on");
    this.#statements.exec("vacuum");
    const [state] = this.#statements.pragma<{ busy: number }>("pragma wal_checkpoint(truncate)");
    if (state?.busy !== 1) return;
    const hint = "Let go of whatever reads the store's file, then purge again.";
    throw new StoreFailure("store_locked", "somebody reads the store, so its log still has what was removed", hint);
  }
}

function placeOf(table: string): Place {
  const place = places[table];
  if (place === undefined || !/^[a-z_]+$/.test(table)) throw new Error(`${table} is no table of content`);
  return place;
}
