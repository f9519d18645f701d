import { z } from "zod";
import { MoveId, RunId, TransferId } from "../ids.ts";
import { Content } from "../item.ts";
import { Modes } from "../modes.ts";
import { ProviderChoice } from "../provider.ts";
import { Refusal } from "../refusal.ts";
import { RunEnding } from "../run.ts";
import { Text, Title } from "../text.ts";
import { Departed, Restoring, StablePoint, ThreadContext, ThreadInput, ThreadMark, Undone, Workspace } from "../thread.ts";
import { stamp } from "./common.ts";

export const ThreadCreated = z.object({ type: z.literal("thread.created"), input: ThreadInput, ...stamp });
export const ThreadEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("thread.run_queued"), runId: RunId, ordinal: z.number().int().positive(), ...stamp }),
  /** A run of this thread had its input accepted by a provider. */
  z.object({
    type: z.literal("thread.run_accepted"),
    runId: RunId,
    ordinal: z.number().int().positive(),
    provider: ProviderChoice,
    /** True when the message itself named its provider. */
    named: z.boolean(),
    ...stamp,
  }),
  z.object({
    type: z.literal("thread.run_ended"),
    runId: RunId,
    ordinal: z.number().int().positive(),
    ending: RunEnding,
    stable: StablePoint.nullable(),
    /** What a parent is told: the last assistant message of the run. */
    result: Content.nullable(),
    error: Refusal.nullable(),
    ...stamp,
  }),
  z.object({ type: z.literal("thread.provider_preferred"), provider: ProviderChoice, ...stamp }),
  z.object({ type: z.literal("thread.task_attached"), byAgent: z.boolean(), ...stamp }),
  /** A child's result waits to be told. */
  z.object({ type: z.literal("thread.result_arrived"), transferId: TransferId, wake: z.boolean(), ...stamp }),
  /** A person took it over from the link that had started it. */
  z.object({ type: z.literal("thread.adopted"), ...stamp }),
  z.object({ type: z.literal("thread.renamed"), title: Title, ...stamp }),
  z.object({ type: z.literal("thread.modes_set"), modes: Modes, ...stamp }),
  z.object({ type: z.literal("thread.marked"), mark: ThreadMark, ...stamp }),
  z.object({ type: z.literal("thread.unmarked"), mark: ThreadMark, ...stamp }),
  /** The folder that its agent works in was made. */
  z.object({ type: z.literal("thread.placed"), workspace: Workspace, ...stamp }),
  /** It came in a bundle (decision 0111). `isAncestor`: it only shows its history to another thread of that. */
  z.object({
    type: z.literal("thread.imported"),
    record: ThreadContext.pick({ provider: true, marks: true, createdBy: true, createdAt: true, lastOrdinal: true }),
    isAncestor: z.boolean(),
    ...stamp,
  }),
  /** Its environment is in another folder now; `restoring`: its worktree is made anew there. */
  z.object({ type: z.literal("thread.relocated"), workspace: Workspace, restoring: Restoring.nullable(), ...stamp }),
  /** Its runs after one were taken back. */
  z.object({
    type: z.literal("thread.rolled_back"),
    undone: Undone,
    stable: StablePoint.nullable(),
    restoring: Restoring.nullable(),
    ...stamp,
  }),
  /** That was taken back. */
  z.object({ type: z.literal("thread.rollback_undone"), restoring: Restoring.nullable(), ...stamp }),
  /** Its worktree holds what it should. */
  z.object({ type: z.literal("thread.files_restored"), keepAs: Text, ...stamp }),
  /** A move that the peer agrees to waits for the thread to be quiet. */
  z.object({ type: z.literal("thread.move_awaited"), moveId: MoveId, ...stamp }),
  /** The move waits for something else: the next queued message has its turn. */
  z.object({ type: z.literal("thread.queue_resumed"), ...stamp }),
  z.object({ type: z.literal("thread.departing"), moveId: MoveId, ...stamp }),
  /** The move came to nothing: the thread lives here. */
  z.object({ type: z.literal("thread.released"), moveId: MoveId, ...stamp }),
  z.object({ type: z.literal("thread.departed"), to: Departed, ...stamp }),
  /** `stop`: what it runs and what waits in it is interrupted with it; without, a running thread cannot be deleted. */
  z.object({ type: z.literal("thread.deleted"), discardWork: z.boolean().optional(), stop: z.boolean().optional(), ...stamp }),
  /** Its content is to go, as far as no fork shows it. */
  z.object({ type: z.literal("thread.purge_asked"), ...stamp }),
  /** It is gone; but for runs up to `keptUpTo`, where there is one. */
  z.object({ type: z.literal("thread.emptied"), keptUpTo: z.number().int().nonnegative().nullable(), ...stamp }),
  /** A text was taken out of it in so many places. */
  z.object({ type: z.literal("thread.text_purged"), count: z.number().int().positive(), ...stamp }),
]);
export type ThreadCreated = z.infer<typeof ThreadCreated>;
export type ThreadEvent = z.infer<typeof ThreadEvent>;
