import type { ThreadId } from "../../schemas/ids.ts";
import type { Overlay } from "./overlay.ts";

/** Stands in place of an import's digest; no digest looks like it. */
const tombstone = "tombstone";

/** True for what is kept under a thread's id where the thread may never be made (links.md, Moves). Every door looks. */
export const isBuried = (known: string | null): boolean => known === tombstone;

/** From here on nobody makes a thread of this id. Changes nothing where there is one, or a tombstone. */
export function bury(overlay: Overlay, threadId: ThreadId): void {
  if (overlay.importDigest(threadId) === null) overlay.putImport(threadId, tombstone);
}
