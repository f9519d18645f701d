import { z } from "zod";
import { LeftOutFile, ObjectName } from "./checkpoint.ts";
import { EnvironmentId, MoveId, ProjectId, RequestId, ThreadId, TransferId } from "./ids.ts";
import { limits } from "./limits.ts";
import { Modes } from "./modes.ts";
import { RepositoryIdentity } from "./project.ts";
import { ProviderChoice } from "./provider.ts";
import { Refusal } from "./refusal.ts";
import { Text, Timestamp, Title } from "./text.ts";

/** `failed`: the thread was released, or never departed. */
export const MoveStatus = z.enum(["pending", "departing", "departed", "failed"]);
export type MoveStatus = z.infer<typeof MoveStatus>;
export const isEndedMove = (status: MoveStatus): boolean => status === "departed" || status === "failed";

/** Something that the other side does not have, and what to do about it. */
export const MoveLack = z.object({
  what: z.enum(["grant", "agent", "login", "project", "version", "room"]),
  message: Text,
  hint: Text,
});
export type MoveLack = z.infer<typeof MoveLack>;

/** What a pending move waits for. */
export const MoveWait = z.enum(["peer", "turn", "children", "files", "room"]);
export type MoveWait = z.infer<typeof MoveWait>;

/** A thread's way to another environment; context of the move machine. It is owned by the side that the thread leaves. */
export const MoveContext = z.object({
  id: MoveId,
  threadId: ThreadId,
  /** Where to, and what the thread will be called there. */
  environmentId: EnvironmentId,
  targetThreadId: ThreadId,
  /** What to go on with there. */
  continuationPrompt: Text.nullable(),
  provider: ProviderChoice.nullable(),
  /** The conversation alone. */
  withoutCode: z.boolean(),
  preflightId: RequestId,
  /** The request that offers the thread; null until it departs. */
  offerId: RequestId.nullable(),
  abortId: RequestId.nullable(),
  waitsFor: MoveWait,
  /** The thread that a person goes on with, since the peer is gone. Only by their word. */
  standIn: ThreadId.nullable().default(null),
  lacks: z.array(MoveLack),
  /** Commits of its repository that the peer has. */
  known: z.array(ObjectName).default([]),
  /** What did not go along, or was not touched there, as a person is told. */
  left: z.array(Text).default([]),
  /** Transfers to the thread that the offer tells. */
  carried: z.array(TransferId),
  createdBy: z.enum(["user", "agent", "system"]),
  createdAt: Timestamp,
  departingAt: Timestamp.nullable(),
  endedAt: Timestamp.nullable(),
  error: Refusal.nullable(),
});
export type MoveContext = z.infer<typeof MoveContext>;

export const MoveInput = MoveContext.pick({
  id: true,
  threadId: true,
  environmentId: true,
  targetThreadId: true,
  continuationPrompt: true,
  provider: true,
  withoutCode: true,
  preflightId: true,
  createdBy: true,
});
export type MoveInput = z.infer<typeof MoveInput>;

export const Move = MoveContext.extend({ status: MoveStatus });
export type Move = z.infer<typeof Move>;

/** What a peer is asked before a thread departs. */
export const MovePreflight = z.object({
  moveId: MoveId,
  threadId: ThreadId,
  /** Who is to serve it there; null: whoever does there. */
  provider: ProviderChoice.nullable(),
  /** The repository that its code belongs to; null: the conversation moves alone. */
  repository: RepositoryIdentity.nullable(),
  /** Commits of it that the asking side has, the newest first: which of them are there? */
  commits: z.array(ObjectName).max(limits.moveCommits),
  /** Of the program that asks. */
  version: Text,
});
export type MovePreflight = z.infer<typeof MovePreflight>;

/** What a peer answers. */
export const MoveChecked = z.object({
  lacks: z.array(MoveLack),
  projectId: ProjectId.nullable(),
  known: z.array(ObjectName),
  version: Text,
});
export type MoveChecked = z.infer<typeof MoveChecked>;

const MovedMessage = z.object({ role: z.enum(["user", "assistant"]), text: Text, createdAt: Timestamp });
export type MovedMessage = z.infer<typeof MovedMessage>;

/** A message that had not had its turn yet. */
const MovedQueued = z.object({ text: Text, provider: ProviderChoice.nullable(), modes: Modes });

/** What the thread's folder holds, and what the peer's repository needs for it. */
export const MovedCode = z.object({
  /** A bundle of git, in base64. */
  bundle: Text,
  format: z.enum(["sha1", "sha256"]),
  /** All that is not ignored, as a commit whose parent is what is checked out. */
  snapshot: ObjectName,
  /** What is checked out; null on a branch without a commit. */
  head: ObjectName.nullable(),
  /** The branch that is checked out; null where none is. */
  branch: Text.nullable(),
  leftOut: z.array(LeftOutFile),
});
export type MovedCode = z.infer<typeof MovedCode>;

/** The whole thread, as the other side makes it live. Its size is bounded (`limits.importRequestBytes`). */
export const MoveOffer = z.object({
  moveId: MoveId,
  sourceThreadId: ThreadId,
  title: Title,
  modes: Modes,
  /** Who serves it. */
  provider: ProviderChoice.nullable(),
  repository: RepositoryIdentity.nullable(),
  messages: z.array(MovedMessage),
  queued: z.array(MovedQueued),
  continuationPrompt: Text.max(limits.importPromptChars).nullable(),
  /** Null: the conversation moves alone. */
  code: MovedCode.nullable(),
});
export type MoveOffer = z.infer<typeof MoveOffer>;
