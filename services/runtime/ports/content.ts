/** One value of the store that somebody's words may be in. */
export type ContentCell = {
  table: string;
  key: (string | number)[];
  column: string;
  kind: "json" | "text" | "bytes";
  /** The actor or thread that it belongs to, where its row says so. */
  of: string | null;
  value: string | Uint8Array;
};

export type ContentPage = { cells: ContentCell[]; next: (string | number)[] | null };

/**
 * Everything in a store that is content, whatever table it is in, for those who must look at all of it (decision 0110).
 * `messages` are what is numbered for a peer: they can be read here and are never changed.
 */
export interface ContentStore {
  readonly tables: readonly { name: string; isMessages: boolean }[];
  /** Cells of the rows behind `after`, in the order of their keys, `rows` at most. */
  page(table: string, after: (string | number)[] | null, rows: number): ContentPage;
  /** Strings that rows are found by, which hold the store together. */
  keysWith(text: string): string[];
  /** All of it, or nothing. Blobs of `add` are made first, those of `drop` go last. */
  write(changes: readonly ContentCell[], blobs?: { add?: { digest: string; bytes: Uint8Array }[]; drop?: string[] }): void;
  /** Makes what was replaced unreadable in the file and its log too: freed pages are rewritten. Takes as long as copying the file. */
  compact(): void;
}
