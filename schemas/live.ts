import { z } from "zod";
import { EnvironmentPatch } from "./environment-view.ts";
import { ThreadPatch } from "./thread-view.ts";

/** Lines of a live connection (NDJSON) beside its patches. */
const notes = [
  /** Everything up to `commit` has been told; what follows is live. Sent once. */
  z.object({ type: z.literal("synchronized"), commit: z.number().int().nonnegative() }),
  /** Nothing new for a while; everything up to `commit` has been told. */
  z.object({ type: z.literal("heartbeat"), commit: z.number().int().nonnegative() }),
  /** Too much has changed since what was told last for patches to be worth while: read a snapshot again. The last line. */
  z.object({ type: z.literal("resnapshot"), commit: z.number().int().nonnegative() }),
] as const;

export const ThreadLiveLine = z.discriminatedUnion("type", [ThreadPatch.extend({ type: z.literal("patch") }), ...notes]);
export type ThreadLiveLine = z.input<typeof ThreadLiveLine>;

export const EnvironmentLiveLine = z.discriminatedUnion("type", [EnvironmentPatch.extend({ type: z.literal("patch") }), ...notes]);
export type EnvironmentLiveLine = z.input<typeof EnvironmentLiveLine>;
