import { z } from "zod";
import { EnvironmentId, ThreadId } from "./ids.ts";
import { Modes } from "./modes.ts";
import { ProviderThread } from "./provider.ts";
import { Digest, Text, Timestamp } from "./text.ts";

export const bundleFormat = "ropewalk-thread";
/** Of the lines; a newer one is refused. */
export const bundleVersion = 1;

/** The first line of a thread's bundle (decision 0111): where it comes from. Not part of the content, which has no ids. */
export const BundleHeader = z.strictObject({
  format: z.literal(bundleFormat),
  version: z.literal(bundleVersion),
  /** Version of the ropewalk that wrote it. */
  ropewalk: Text,
  environmentId: EnvironmentId,
  environmentName: Text,
  threadId: ThreadId,
  exportedAt: Timestamp,
  modes: Modes,
  /** The threads of the content, oldest history first; the last is the thread itself. */
  parts: z.array(ThreadId).min(1).max(1_000),
  /** Runs that were under way or waiting: not in it. */
  unfinishedRuns: z.number().int().nonnegative(),
  /** The providers' own conversations, as information: they live where they are. */
  providerThreads: z.array(ProviderThread),
});
export type BundleHeader = z.infer<typeof BundleHeader>;

/**
 * A line of the content. `data` is the record as schemas/ has it, with names in place of the ids of records that are in the
 * bundle (`thread/0`, `run/0/3`): so the same conversation has the same content wherever it is.
 */
export const BundleRecord = z.strictObject({
  kind: z.enum(["thread", "run", "checkpoint", "transfer", "handoff", "task", "item", "blob"]),
  data: z.record(z.string(), z.unknown()),
});
export type BundleRecord = z.infer<typeof BundleRecord>;
export type BundleKind = BundleRecord["kind"];

/** The last line. */
export const BundleEnd = z.strictObject({
  records: z.number().int().nonnegative(),
  /** SHA-256 of the canonical JSON of all records in their order: equal for equal conversations. */
  content: Digest,
  /** SHA-256 of the canonical JSON of `{header, records, content}`. */
  digest: Digest,
});
export type BundleEnd = z.infer<typeof BundleEnd>;

export const ThreadBundle = z.strictObject({ header: BundleHeader, records: z.array(BundleRecord), end: BundleEnd });
export type ThreadBundle = z.infer<typeof ThreadBundle>;
