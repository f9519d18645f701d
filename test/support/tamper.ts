import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

/** Changes a store's file behind its back, as a bad disk or a person with a tool would. Returns how many rows changed. */
export function tamper(dir: string, sql: string, ...values: SQLInputValue[]): number {
  const db = new DatabaseSync(join(dir, "ropewalk.db"));
  try {
    if (values.length > 0) return Number(db.prepare(sql).run(...values).changes);
    db.exec(sql);
    return 0;
  } finally {
    db.close();
  }
}

/** Makes the store refuse every row of a table that meets a condition (over `new`), until the returned function is called. */
export function refuseRows(dir: string, table: string, condition: string): () => void {
  const name = `refuse_${table}`;
  tamper(dir, `create trigger ${name} before insert on ${table} when ${condition} begin select raise(abort, 'refused by the test'); end`);
  return () => {
    tamper(dir, `drop trigger ${name}`);
  };
}
