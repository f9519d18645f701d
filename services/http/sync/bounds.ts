/** What a view holds at most, and how much is read for it in one turn of the event loop (decision 0106). */
export const bounds = {
  /** Items of a snapshot or an older page, when nobody says how many; and at most. */
  items: 200,
  mostItems: 1_000,
  /** A page ends when what it shows has reached this; one item is always shown. */
  shownBytes: 256 * 1024,
  /** Threads of a list, when nobody says how many; and at most. */
  threads: 500,
  mostThreads: 1_000,
  /** The newest transfers of a thread, of each direction, and its newest tasks. The rest is in their own listings. */
  transfers: 200,
  tasks: 200,

  /** What of the store is read at once, before others get their turn. */
  sliceBytes: 256 * 1024,
  sliceRecords: 50,
  sliceChanges: 500,

  /** A client that is further behind than this is told to read a snapshot again: that is less to read than what it missed. */
  scannedChanges: 20_000,
  changedRecords: 500,
  patchItems: 500,
  patchBytes: 512 * 1024,
} as const;

/** Others get their turn. */
export const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
