import { z } from "zod";
import { AccessKind } from "./access.ts";
import { ThreadBundle } from "./bundle.ts";
import {
  CheckpointId,
  ClientId,
  CommandId,
  EnvironmentId,
  ImportHandoffId,
  LinkId,
  ProjectId,
  ProviderThreadId,
  RunId,
  TaskId,
  ThreadId,
} from "./ids.ts";
import { ImportRequest } from "./import.ts";
import { limits } from "./limits.ts";
import { InteractionMode, Modes, RuntimeMode } from "./modes.ts";
import { WorktreeSettings } from "./project.ts";
import { ProviderChoice } from "./provider.ts";
import { Refusal } from "./refusal.ts";
import type { SystemCommand } from "./system-command.ts";
import { MessageText, Text, Title } from "./text.ts";
import { ThreadMark, WorkspaceWish } from "./thread.ts";

/** Where to fork: what the contract names a source point (§6, Fork). */
export const ForkPoint = z.union([
  z.strictObject({ kind: z.literal("latest_stable") }),
  z.strictObject({ kind: z.literal("run"), runId: RunId }),
  z.strictObject({ kind: z.literal("checkpoint"), checkpointId: CheckpointId }),
  z.strictObject({ kind: z.literal("provider_thread"), providerThreadId: ProviderThreadId }),
]);
export type ForkPoint = z.infer<typeof ForkPoint>;

const partialModes = { runtimeMode: RuntimeMode.optional(), interactionMode: InteractionMode.optional() };

const newThread = {
  projectId: ProjectId.optional(),
  title: Title.optional(),
  provider: ProviderChoice.optional(),
  workspace: WorkspaceWish.optional(),
  ...partialModes,
};

/** What people, agents and peers may ask. */
export const PublicCommand = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("project.add"), path: Text.min(1), name: Title.min(1).optional() }),
  /** How the project's worktrees are made; what is not named stays as it is. */
  z.strictObject({
    type: z.literal("project.configure"),
    projectId: ProjectId,
    setup: WorktreeSettings.shape.setup.optional(),
    carry: WorktreeSettings.shape.carry.optional(),
  }),
  z.strictObject({ type: z.literal("thread.create"), ...newThread }),
  /** A thread and its first message in one commit. */
  z.strictObject({ type: z.literal("thread.launch"), text: MessageText, ...newThread }),
  z.strictObject({
    type: z.literal("thread.send"),
    threadId: ThreadId,
    text: MessageText,
    /** Who is to serve it; without: what the thread prefers, else what served it last, else the default. */
    provider: ProviderChoice.optional(),
    delivery: z.enum(["auto", "queue"]).optional(),
    ...partialModes,
  }),
  z.strictObject({
    type: z.literal("thread.fork"),
    threadId: ThreadId,
    at: ForkPoint,
    title: Title.optional(),
    /** Where it works; without: in a worktree of its own. Anything else is for a person to say. */
    workspace: WorkspaceWish.optional(),
  }),
  z.strictObject({ type: z.literal("thread.switch"), threadId: ThreadId, provider: ProviderChoice }),
  z.strictObject({ type: z.literal("thread.merge_back"), threadId: ThreadId, into: ThreadId.optional() }),
  z.strictObject({
    type: z.literal("thread.import"),
    import: ImportRequest,
    /** Where no `worktreePath` is named: whoever goes on with it works in a worktree of its own, made with its first run. */
    ownWorktree: z.boolean().optional(),
  }),
  /** A thread that was exported, here or elsewhere, as `ThreadBundle` has it (decision 0111). */
  z.strictObject({
    type: z.literal("thread.import_bundle"),
    bundle: ThreadBundle,
    projectId: ProjectId.optional(),
    /** Makes another thread of a bundle that was imported before. */
    again: Text.regex(/^[\x21-\x7e]{1,40}$/).optional(),
  }),
  /** Sends a thread's conversation to a linked environment as an import there. */
  z.strictObject({
    type: z.literal("thread.import_to"),
    threadId: ThreadId,
    environmentId: EnvironmentId,
    handoffId: ImportHandoffId,
    continuationPrompt: Text.min(1).max(limits.importPromptChars).optional(),
    provider: ProviderChoice.optional(),
    title: Title.optional(),
  }),
  /** An import of given messages at a linked environment. */
  z.strictObject({ type: z.literal("link.import"), environmentId: EnvironmentId, import: ImportRequest }),
  /** Moves a thread to a linked environment: it lives there then, and takes no more turns here (contract §6). */
  z.strictObject({
    type: z.literal("thread.move"),
    threadId: ThreadId,
    environmentId: EnvironmentId,
    /** What to go on with there. */
    continuationPrompt: Text.min(1).max(limits.importPromptChars).optional(),
    /** Who is to serve it there; without: who serves it here. */
    provider: ProviderChoice.optional(),
    /** The conversation alone, although its project is a repository. */
    withoutCode: z.boolean().optional(),
  }),
  /** Takes a move back, while nobody there has decided on it. */
  z.strictObject({ type: z.literal("thread.move_cancel"), threadId: ThreadId }),
  z.strictObject({
    type: z.literal("thread.interrupt"),
    threadId: ThreadId,
    runId: RunId.optional(),
    /** Whether its open subagents are cancelled too, depth first; default `cancel`. */
    children: z.enum(["cancel", "keep"]).optional(),
    reason: Text.optional(),
  }),
  z.strictObject({ type: z.literal("thread.rename"), threadId: ThreadId, title: Title }),
  z.strictObject({ type: z.literal("thread.set_modes"), threadId: ThreadId, ...partialModes }),
  z.strictObject({ type: z.literal("thread.mark"), threadId: ThreadId, mark: ThreadMark, on: z.boolean() }),
  /** Takes back the thread's runs after `to` (null: all of them; without it: the last one), and its own worktree with them. */
  z.strictObject({ type: z.literal("thread.undo"), threadId: ThreadId, to: RunId.nullable().optional() }),
  /** Takes back the last undo, until something new ran. */
  z.strictObject({ type: z.literal("thread.redo"), threadId: ThreadId }),
  z.strictObject({
    type: z.literal("thread.delete"),
    threadId: ThreadId,
    keepForks: z.boolean().optional(),
    /** Also when its own worktree holds work that is nowhere else. */
    discardWork: z.boolean().optional(),
    /** Stops first what runs and waits in it, and its open subagents, depth first. */
    stop: z.boolean().optional(),
  }),
  /** Removes a thread's content for good; deletes it first, by the same rules, where it is not deleted. A person's own. */
  z.strictObject({
    type: z.literal("thread.purge"),
    threadId: ThreadId,
    keepForks: z.boolean().optional(),
    discardWork: z.boolean().optional(),
    stop: z.boolean().optional(),
  }),
  /** A person takes over what a link has started: the link may change it no more. */
  z.strictObject({ type: z.literal("thread.adopt"), threadId: ThreadId }),
  z.strictObject({ type: z.literal("run.answer"), runId: RunId, requestId: Text.min(1), answer: Text.min(1).max(limits.messageChars) }),
  z.strictObject({
    type: z.literal("task.spawn"),
    parentThreadId: ThreadId,
    prompt: MessageText,
    title: Title.optional(),
    /** What the caller chose to hand over besides the task; nothing else of the parent is told. */
    handedOver: MessageText.optional(),
    provider: ProviderChoice.optional(),
    /** Where it is to run; without: here. */
    environmentId: EnvironmentId.optional(),
    /** Where it works here; without: in a worktree of its own. Anything else is for a person to say. */
    workspace: WorkspaceWish.optional(),
    ...partialModes,
  }),
  z.strictObject({ type: z.literal("task.cancel"), taskId: TaskId, reason: Text.optional() }),
  /** A person takes a link back: what it runs here is stopped, and nothing travels on it any more. */
  z.strictObject({ type: z.literal("link.revoke"), linkId: LinkId, reason: Text.min(1).optional() }),
  /** A person's word that the other side never comes back: what waits for it ends, marked so. */
  z.strictObject({ type: z.literal("link.forget"), linkId: LinkId, reason: Text.min(1).optional() }),
  /** A person ends a divergence: what has no receipt goes out again under its ids, in a new epoch. */
  z.strictObject({ type: z.literal("link.rejoin"), linkId: LinkId }),
  z.strictObject({ type: z.literal("task.dismiss"), taskId: TaskId, reason: Text.optional() }),
]);
export type PublicCommand = z.infer<typeof PublicCommand>;

export type Command = PublicCommand | SystemCommand;
export type CommandType = Command["type"];

/**
 * Who asks. A thread is an agent's own token; a client is a program that a person has let in, and acts for that person
 * within what it was given; a link is the pinned peer, never a field of its message.
 */
export const Caller = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("user") }),
  z.object({
    kind: z.literal("thread"),
    threadId: ThreadId,
    runId: RunId.nullable(),
    /** What it has narrowed itself to, below what its thread and its token give it. */
    maxModes: Modes.optional(),
    access: z.array(AccessKind).optional(),
  }),
  z.object({ kind: z.literal("client"), clientId: ClientId, maxModes: Modes, access: z.array(AccessKind) }),
  z.object({ kind: z.literal("link"), linkId: LinkId, environmentId: EnvironmentId }),
  z.object({ kind: z.literal("system") }),
]);
export type Caller = z.infer<typeof Caller>;

/** What a client sends: its own id makes a repeat safe. */
export const CommandEnvelope = z.strictObject({ id: CommandId, command: PublicCommand });
export type CommandEnvelope = z.infer<typeof CommandEnvelope>;

/** What was answered, and stored under the command's id. */
export const Receipt = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    commandId: CommandId,
    /** The commit that holds the whole effect. */
    commit: z.number().int().nonnegative(),
    result: z.record(z.string(), z.unknown()),
    /** True when this answer was stored by an earlier call. */
    repeated: z.boolean(),
  }),
  z.object({ ok: z.literal(false), commandId: CommandId, refusal: Refusal, repeated: z.boolean() }),
]);
export type Receipt = z.infer<typeof Receipt>;
