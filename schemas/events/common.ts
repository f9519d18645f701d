import { z } from "zod";
import { Timestamp } from "../text.ts";

/** What the host stamps on every event: its clock and a fresh uuid. Machines take time and ids from here alone. */
export const stamp = { at: Timestamp, eid: z.uuid() } as const;

/** An event before it is stamped. */
export type Unstamped<E> = E extends { at: unknown; eid: unknown } ? Omit<E, "at" | "eid"> : never;
