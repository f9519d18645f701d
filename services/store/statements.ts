import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { storeFailure } from "./failure.ts";

/** Statements of one connection, each prepared once. What SQLite says of a failure is told in our words. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
  }

  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#told(() => this.#prepare(sql).get(...values) as Row | undefined);
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#told(() => this.#prepare(sql).all(...values) as Row[]);
  }

  /** Returns how many rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return this.#told(() => Number(this.#prepare(sql).run(...values).changes));
  }

  /** For pragmas, which take effect when they are compiled: a prepared one would do nothing the second time. */
  exec(sql: string): void {
    this.#told(() => this.#db.exec(sql));
  }

  /** A pragma that answers; never a prepared one, see above. */
  pragma<Row>(sql: string): Row[] {
    return this.#told(() => this.#db.prepare(sql).all() as Row[]);
  }

  /** All of `work` in one transaction, or nothing of it. */
  transaction(work: () => void): void {
    this.#told(() => {
      try {
        this.#prepare("begin immediate").run();
        work();
        this.#prepare("commit").run();
      } catch (error) {
        // Many failures have ended the transaction already.
        if (this.#db.isTransaction) this.#db.exec("rollback");
        throw error;
      }
    });
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }

  #told<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw storeFailure(error, this.#path);
    }
  }
}
