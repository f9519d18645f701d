import { z } from "zod";
import { EnvironmentId, LinkId, ProjectId, RunId, ThreadId } from "./ids.ts";
import { LinkStatus } from "./link.ts";
import { ProviderInstanceId } from "./provider.ts";
import { RunStatus } from "./run.ts";
import { Text, Timestamp, Title } from "./text.ts";
import { TaskRef, ThreadMark, ThreadStatus } from "./thread.ts";
import { TaskView } from "./thread-view.ts";

/** What a client sees of the whole environment: a live list, in the same wire's shape as a thread's (thread-view.ts). */

/** A thread as one line of a list. */
export const ThreadLine = z.object({
  id: ThreadId,
  /** Its place among all threads in order of making; grows. Lists are newest first. */
  number: z.number().int().nonnegative(),
  projectId: ProjectId,
  title: Title,
  status: ThreadStatus,
  /** What its active run is doing; null when none is. */
  activity: RunStatus.nullable().default(null),
  activeRunId: RunId.nullable().default(null),
  /** Messages that wait for their turn. */
  queued: z.number().int().nonnegative().default(0),
  lastOrdinal: z.number().int().nonnegative().default(0),
  provider: ProviderInstanceId.nullable().default(null),
  parentThreadId: ThreadId.nullable().default(null),
  relationshipToParent: z.enum(["fork", "subagent"]).nullable().default(null),
  rootThreadId: ThreadId.nullable().default(null),
  task: TaskRef.nullable().default(null),
  marks: z.partialRecord(ThreadMark, Timestamp).default({}),
  createdAt: Timestamp,
});
export type ThreadLine = z.input<typeof ThreadLine>;

export const LinkLine = z.object({
  id: LinkId,
  name: Title,
  peerEnvironmentId: EnvironmentId,
  status: LinkStatus,
  error: Text.nullable().default(null),
  lastSeenAt: Timestamp.nullable().default(null),
});
export type LinkLine = z.input<typeof LinkLine>;

/** The environment at one commit: its newest threads first (deleted ones left out), its open tasks, its links. */
export const EnvironmentSnapshot = z.object({
  commit: z.number().int().nonnegative(),
  threads: z.array(ThreadLine),
  /** By id; the newest of very many. */
  tasks: z.array(TaskView).default([]),
  links: z.array(LinkLine).default([]),
  /** Set when there are older threads: the last one here, and what an older page is asked for with. */
  olderThan: ThreadId.nullable().default(null),
});
export type EnvironmentSnapshot = z.input<typeof EnvironmentSnapshot>;

export const OlderThreads = EnvironmentSnapshot.pick({ commit: true, threads: true, olderThan: true });
export type OlderThreads = z.input<typeof OlderThreads>;

/** What has changed. A thread that is `deleted` and a task that has ended leave the view with the patch that says so. */
export const EnvironmentPatch = z.object({
  commit: z.number().int().nonnegative(),
  threads: z.array(ThreadLine).default([]),
  tasks: z.array(TaskView).default([]),
  links: z.array(LinkLine).default([]),
});
export type EnvironmentPatch = z.input<typeof EnvironmentPatch>;
