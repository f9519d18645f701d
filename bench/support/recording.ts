import { DatabaseSync, type SQLInputValue, StatementSync } from "node:sqlite";

/** One write as SQLite was given it. `exec` steps are `begin` and `commit`. */
export type Write = { sql: string; values: SQLInputValue[] | null };

/**
 * Every write of this process to SQLite between two moments: what a bench replays by bare prepared statements, so that its
 * floor is the same rows, bytes and commits. Wraps the two methods of the library that write; the cost while nothing is
 * recorded is one comparison.
 */
export function recordWrites(): { stop(): Write[] } {
  const writes: Write[] = [];
  const { run } = StatementSync.prototype;
  const { exec } = DatabaseSync.prototype;
  StatementSync.prototype.run = function (this: StatementSync, ...values: SQLInputValue[]) {
    writes.push({ sql: this.sourceSQL, values });
    return run.apply(this, values as never);
  } as typeof run;
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
    writes.push({ sql, values: null });
    exec.call(this, sql);
  };
  return {
    stop() {
      StatementSync.prototype.run = run;
      DatabaseSync.prototype.exec = exec;
      return writes;
    },
  };
}

/** Plays writes into a database by bare prepared statements. Returns milliseconds. */
export function replayWrites(db: DatabaseSync, writes: readonly Write[]): number {
  const statements = new Map<string, StatementSync>();
  const steps = writes.map(({ sql, values }) => {
    if (values === null) return { sql, statement: null, values };
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      statements.set(sql, statement);
    }
    return { sql, statement, values };
  });
  const began = performance.now();
  for (const { sql, statement, values } of steps) {
    if (statement === null) db.exec(sql);
    else statement.run(...values);
  }
  return performance.now() - began;
}
