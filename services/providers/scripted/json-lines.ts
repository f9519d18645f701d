import { open, readFile, truncate } from "node:fs/promises";
import { dirname } from "node:path";

type Waiting = { line: string; done: () => void; failed: (cause: unknown) => void };

/** A file of one JSON value a line, only ever appended to. Appends that come together are one write. */
export class JsonLines {
  readonly #path: string;
  readonly #durable: boolean;
  #waiting: Waiting[] = [];
  #writing = false;
  #named = false;

  /** `durable`: an append resolves once it would survive a power cut, not only the death of the process. */
  constructor(path: string, options: { durable: boolean }) {
    this.#path = path;
    this.#durable = options.durable;
  }

  append(...values: unknown[]): Promise<void> {
    const line = values.map((value) => `${JSON.stringify(value)}\n`).join("");
    return new Promise((done, failed) => {
      this.#waiting.push({ line, done, failed });
      if (!this.#writing) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#put(batch.map(({ line }) => line).join(""));
        for (const { done } of batch) done();
      } catch (cause) {
        for (const { failed } of batch) failed(cause);
      }
    }
    this.#writing = false;
  }

  async #put(text: string): Promise<void> {
    const file = await open(this.#path, "a");
    try {
      const { size } = await file.stat();
      try {
        await file.appendFile(text);
        if (this.#durable) await file.datasync();
      } catch (cause) {
        // A full disk may have taken half a line, which the next one must not run into.
        await file.truncate(size).catch(() => undefined);
        throw cause;
      }
    } finally {
      await file.close();
    }
    if (this.#durable && !this.#named) await syncFolder(dirname(this.#path));
    this.#named = true;
  }
}

/** The values of a file, none where there is no file. A last line that was cut off by a crash is taken away. */
export async function readJsonLines(path: string): Promise<unknown[]> {
  const bytes = await readFile(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return null;
    throw cause;
  });
  if (bytes === null) return [];
  const end = bytes.lastIndexOf("\n") + 1;
  if (end < bytes.length) await truncate(path, end);
  const values: unknown[] = [];
  for (let from = 0; from < end; ) {
    const to = bytes.indexOf("\n", from);
    values.push(JSON.parse(bytes.toString("utf8", from, to)));
    from = to + 1;
  }
  return values;
}

/** A new file's name is safe only once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
