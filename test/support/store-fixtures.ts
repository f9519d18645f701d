import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import type { Store } from "../../services/runtime/ports/store.ts";
import { positionAt } from "./commit-batches.ts";

export const fixtureFolder = fileURLToPath(new URL("../fixtures/stores/", import.meta.url));
export const fixtureName = (version: number) => String(version).padStart(4, "0");

/** Runs SQL on a file beside the store's own connection. */
export function withDatabase<T>(path: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Every table, index and row of a database as SQL that makes it again. */
export function dumpOf(path: string): string {
  return withDatabase(path, (db) => {
    const { user_version } = db.prepare("pragma user_version").get() as { user_version: number };
    const lines = [...schemaOf(db), `pragma user_version = ${user_version};`];
    for (const table of tablesOf(db)) {
      const columns = (db.prepare(`select name from pragma_table_info('${table}')`).all() as { name: string }[]).map((c) => c.name);
      const quoted = columns.map((c) => `quote("${c}")`).join(" || ', ' || ");
      const rows = db.prepare(`select ${quoted} as row from "${table}" order by 1`).all() as { row: string }[];
      for (const { row } of rows) lines.push(`insert into "${table}" (${columns.join(", ")}) values (${row});`);
    }
    return `${lines.join("\n")}\n`;
  });
}

/** The statements that make a database's tables and indexes. */
export function schemaOf(db: DatabaseSync): string[] {
  const rows = db.prepare("select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by rowid").all();
  return (rows as { sql: string }[]).map((r) => `${r.sql};`);
}

export function tablesOf(db: DatabaseSync): string[] {
  const rows = db.prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name").all();
  return (rows as { name: string }[]).map((r) => r.name);
}

/** Everything that the port tells of a store, found by the keys that are in its tables. */
export function readOut(store: Store, path: string): Record<string, unknown> {
  const keys = (sql: string) => withDatabase(path, (db) => (db.prepare(sql).all() as { key: string }[]).map((r) => r.key as never));
  const threads = keys("select distinct thread_id as key from items order by 1");
  const links = keys("select link_id as key from links order by 1");
  const all = Number.MAX_SAFE_INTEGER;
  const told = {
    lastCommit: store.lastCommit,
    journal: store.journal({ limit: 100 }),
    actors: (["thread", "run", "transfer", "task", "link"] as const).flatMap((kind) => store.actorsBy({ kind })),
    items: threads.flatMap((threadId) => store.items({ threadId, fromOrdinal: 0, toOrdinal: all })),
    blobs: keys("select digest as key from blobs order by 1").map((digest) => Buffer.from(store.blob(digest) ?? []).toString("hex")),
    progress: keys("select run_id as key from progress order by 1").map((runId) => store.progress(runId)),
    checkpoints: threads.flatMap((id) => store.checkpointsOf(id)),
    handoffs: keys("select id as key from handoffs order by 1").map((id) => store.handoff(id)),
    providerThreads: threads.flatMap((id) => store.providerThreadsOf(id)),
    projects: store.projects(),
    openEffects: store.openEffects(),
    effectsSetAside: store.effectsSetAside(),
    receipts: keys("select command_id as key from receipts order by 1").map((id) => store.receipt(id)),
    imports: keys("select thread_id as key from imports order by 1").map((id) => store.importDigest(id)),
    links: links.map((id) => store.link(id)),
    outbox: links.flatMap((id) => store.outbox(id, positionAt(1, 0), 100)),
    incoming: keys("select environment_id || ' ' || request_id as key from incoming_requests order by 1").map((key: string) => {
      const [environmentId, requestId] = key.split(" ");
      return store.incomingRequest(environmentId as never, requestId as never);
    }),
    openRequests: store.openRequests(),
    outgoing: keys("select request_id as key from outgoing_requests order by 1").map((id) => store.outgoingRequest(id)),
    keptMessages: links.flatMap((id) => store.keptMessages(id)),
    setAside: store.setAside(),
  };
  return JSON.parse(JSON.stringify(told)) as Record<string, unknown>;
}
