import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endMarked } from "./processes.ts";

/** The agents of one instance that run, by their marks, as files: so that a later life of ours ends what this one left. */
export class Strays {
  readonly #folder: string;
  readonly #own = new Set<string>();
  #ended: Promise<void> | null = null;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "agents");
  }

  /** Written down before the agent is started. */
  note(mark: string): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.#folder, mark), "");
    this.#own.add(mark);
  }

  forget(mark: string): void {
    rmSync(join(this.#folder, mark), { force: true });
    this.#own.delete(mark);
  }

  /** Ends, once, what earlier lives of ours left; resolves when none of it is there any more. */
  endAll(): Promise<void> {
    this.#ended ??= this.#endAll();
    return this.#ended;
  }

  async #endAll(): Promise<void> {
    const marks = names(this.#folder).filter((mark) => !this.#own.has(mark));
    for (const mark of marks) if (await endMarked(mark)) this.forget(mark);
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
