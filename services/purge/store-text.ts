import { createHash } from "node:crypto";
import type { ContextHandoff } from "../../schemas/handoff.ts";
import type { ContentCell, ContentPage, ContentStore } from "../runtime/ports/content.ts";
import type { Needle } from "../runtime/redaction/needle.ts";
import { mapTexts } from "../runtime/redaction/texts.ts";

/** Something that holds the text: which table, whose it is, how often. */
export type StoreFinding = { table: string; of: string | null; count: number; isMessage: boolean };
export type StoreLook = { found: StoreFinding[] /** Where it is part of what holds the record together. */; inNames: string[] };

const rowsAtOnce = 200;
const blobsAtOnce = 8;

/** Runs a step while nobody else writes the store. */
export type Alone = <T>(work: () => T) => Promise<T>;

/** What a replaced digest or commit is now. */
export type Successors = ReadonlyMap<string, string>;

const none: Successors = new Map();

/** Finds and replaces a text in any store file, a few rows at a time. */
export class StoreText {
  readonly #content: ContentStore;
  readonly #needle: Needle;

  constructor(content: ContentStore, needle: Needle) {
    this.#content = content;
    this.#needle = needle;
  }

  async look(alone: Alone): Promise<StoreLook> {
    const found: StoreFinding[] = [];
    const inNames = new Set(this.#needle.forms.flatMap((form) => this.#content.keysWith(form)));
    for await (const { cells, isMessages } of this.#pages(alone))
      for (const cell of cells) {
        const count = this.#countIn(cell, inNames);
        if (count > 0) found.push({ table: cell.table, of: cell.of, count, isMessage: isMessages });
      }
    return { found, inNames: [...inNames] };
  }

  /**
   * Replaces it wherever it may be replaced; blobs get a new digest, and what names them is pointed to the new ones.
   * `commits` of snapshots that were rewritten are pointed to their successors too. May be repeated after a crash anywhere.
   */
  async replace(alone: Alone, commits: Successors = none): Promise<void> {
    const blobs = await this.#newBlobs(alone);
    const kept = new Set<string>();
    const successors = new Map([...commits, ...[...blobs].map(([old, { digest }]) => [old, digest] as const)]);
    for (const { name, isMessages } of this.#content.tables) {
      if (name === "blobs" || name === "meta") continue;
      for (let after: (string | number)[] | null = null, isMore = true; isMore; ) {
        const from: (string | number)[] | null = after;
        const next: (string | number)[] | null = await alone(() => {
          const page = this.#content.page(name, from, rowsAtOnce);
          // What waits for a peer is numbered and digested as it is: it stays, and so does what it names.
          if (isMessages)
            for (const { value } of page.cells) for (const old of blobs.keys()) if (String(value).includes(old)) kept.add(old);
          const changes = isMessages ? [] : page.cells.flatMap((cell) => this.#replaced(cell, blobs, successors) ?? []);
          if (changes.length > 0) this.#content.write(changes);
          return page.next;
        });
        after = next;
        isMore = next !== null;
        await turn();
      }
    }
    const drop = [...blobs.keys()].filter((digest) => !kept.has(digest));
    if (drop.length > 0) await alone(() => this.#content.write([], { drop }));
  }

  async #newBlobs(alone: Alone): Promise<Map<string, { digest: string; bytes: number; preview: string }>> {
    const made = new Map<string, { digest: string; bytes: number; preview: string }>();
    for await (const { cells } of this.#pages(alone, "blobs"))
      for (const { value, key } of cells) {
        const before = Buffer.from(value as Uint8Array);
        if (!this.#needle.isInBytes(before)) continue;
        const bytes = this.#needle.replaceInBytes(before);
        const digest = createHash("sha256").update(bytes).digest("hex");
        await alone(() => this.#content.write([], { add: [{ digest, bytes }] }));
        const preview = bytes.toString("utf8").slice(0, 500);
        made.set(String(key[0]), { digest, bytes: bytes.length, preview: preview.isWellFormed() ? preview : preview.slice(0, -1) });
      }
    return made;
  }

  async *#pages(alone: Alone, only?: string): AsyncGenerator<{ cells: ContentCell[]; isMessages: boolean }> {
    for (const { name, isMessages } of this.#content.tables) {
      if (only !== undefined && name !== only) continue;
      const rows = name === "blobs" ? blobsAtOnce : rowsAtOnce;
      for (let after: (string | number)[] | null = null, isMore = true; isMore; ) {
        const from: (string | number)[] | null = after;
        const page: ContentPage = await alone(() => this.#content.page(name, from, rows));
        yield { cells: page.cells, isMessages };
        after = page.next;
        isMore = after !== null;
        await turn();
      }
    }
  }

  #countIn({ table, kind, value }: ContentCell, inNames: Set<string>): number {
    if (kind === "bytes") return this.#needle.isInBytes(Buffer.from(value as Uint8Array)) ? 1 : 0;
    const text = value as string;
    if (!this.#needle.mayBeIn(text)) return 0;
    const record = kind === "json" ? parsed(text) : null;
    if (record === null) return this.#needle.isIn(text) ? Math.max(1, this.#needle.countIn(text)) : 0;
    let count = 0;
    mapTexts(record, {
      inRecord: isRecord(table),
      words: (words) => {
        if (this.#needle.isIn(words)) count += Math.max(1, this.#needle.countIn(words));
        return words;
      },
      own: (own) => {
        if (this.#needle.isIn(own)) inNames.add(`${table}: names, ids or paths`);
        return own;
      },
    });
    return count;
  }

  #replaced(
    cell: ContentCell,
    blobs: ReadonlyMap<string, { digest: string; bytes: number; preview: string }>,
    successors: Successors,
  ): ContentCell | null {
    const text = cell.value as string;
    if (!this.#needle.mayBeIn(text) && !names(text, successors)) return null;
    const record = cell.kind === "json" ? parsed(text) : null;
    if (record === null) {
      const value = this.#needle.replaceIn(text);
      return value === text ? null : { ...cell, value };
    }
    const mapped = mapTexts(record, {
      inRecord: isRecord(cell.table),
      words: (words) => this.#needle.replaceIn(words),
      own: (own) => successors.get(own) ?? own,
      blob: (digest) => blobs.get(digest) ?? null,
    });
    if (mapped === record) return null;
    const value = JSON.stringify(cell.table === "handoffs" ? measuredAgain(mapped as ContextHandoff) : mapped);
    return { ...cell, value };
  }
}

/** A handoff says the digest and the size of what it tells; tokens are not counted again. */
export function measuredAgain(handoff: ContextHandoff): ContextHandoff {
  const { payload, budget, size } = handoff;
  const digest = createHash("sha256").update(payload).digest("hex");
  return { ...handoff, digest, size: budget.unit === "chars" ? payload.length : size };
}

const isRecord = (table: string) => ["actors", "actor_history", "journal", "projects"].includes(table);

function names(text: string, successors: Successors): boolean {
  if (successors.size === 0) return false;
  for (const [hex] of text.matchAll(/[0-9a-f]{40,64}/g)) if (successors.has(hex)) return true;
  return false;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
