import { createHash } from "node:crypto";
import { z } from "zod";

/**
 * Every id is ours: `<noun>:<uuidv7>` (decision 18). Native ids of a provider are evidence and never take this place.
 * Exceptions in shape: an import's thread id is derived (see {@link importThreadId}), a command id may be a client's own.
 */
const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const idOf = (noun: string) => z.string().regex(new RegExp(`^${noun}:${uuid}$`), `expected an id like ${noun}:<uuid>`);

export const EnvironmentId = idOf("env").brand("EnvironmentId");
export const ProjectId = idOf("project").brand("ProjectId");
export const ThreadId = z
  .string()
  .regex(new RegExp(`^thread:(${uuid}|import:[0-9a-f]{32})$`), "expected an id like thread:<uuid>")
  .brand("ThreadId");
export const RunId = idOf("run").brand("RunId");
export const AttemptId = idOf("attempt").brand("AttemptId");
export const ItemId = idOf("item").brand("ItemId");
export const CheckpointId = idOf("checkpoint").brand("CheckpointId");
export const TransferId = idOf("transfer").brand("TransferId");
export const HandoffId = idOf("handoff").brand("HandoffId");
export const TaskId = idOf("task").brand("TaskId");
export const LinkId = idOf("link").brand("LinkId");
/** An invitation to link; the link that comes of it has the same uuid. */
export const InviteId = idOf("invite").brand("InviteId");
export const MoveId = idOf("move").brand("MoveId");
export const ProviderThreadId = idOf("pthread").brand("ProviderThreadId");
export const EffectId = idOf("effect").brand("EffectId");
/** A program that a person has let in: a paired client, or `client:local` for one on this machine. */
export const ClientId = z
  .string()
  .regex(/^client:[a-z0-9][a-z0-9-]{0,63}$/, "expected an id like client:<uuid>")
  .brand("ClientId");
/** `cmd:<uuidv7>` or a client's own `cmd:<caller>:<clientRequestId>`; printable ASCII, so that it can travel in a header. */
export const CommandId = z
  .string()
  .max(300)
  .regex(/^cmd:[\x21-\x7e]+$/, "expected an id like cmd:<uuid>")
  .brand("CommandId");
/** A request between environments; global and for ever (links.md, invariant 6). */
export const RequestId = idOf("req").brand("RequestId");
export const IncarnationId = idOf("inc").brand("IncarnationId");

export type EnvironmentId = z.infer<typeof EnvironmentId>;
export type ProjectId = z.infer<typeof ProjectId>;
export type ThreadId = z.infer<typeof ThreadId>;
export type RunId = z.infer<typeof RunId>;
export type AttemptId = z.infer<typeof AttemptId>;
export type ItemId = z.infer<typeof ItemId>;
export type CheckpointId = z.infer<typeof CheckpointId>;
export type TransferId = z.infer<typeof TransferId>;
export type HandoffId = z.infer<typeof HandoffId>;
export type TaskId = z.infer<typeof TaskId>;
export type LinkId = z.infer<typeof LinkId>;
export type InviteId = z.infer<typeof InviteId>;
export type MoveId = z.infer<typeof MoveId>;
export type ProviderThreadId = z.infer<typeof ProviderThreadId>;
export type EffectId = z.infer<typeof EffectId>;
export type ClientId = z.infer<typeof ClientId>;
export type CommandId = z.infer<typeof CommandId>;
export type RequestId = z.infer<typeof RequestId>;
export type IncarnationId = z.infer<typeof IncarnationId>;

/** The nouns whose ids the runtime hands out, with the branded type of each. */
export interface IdByNoun {
  env: EnvironmentId;
  project: ProjectId;
  thread: ThreadId;
  run: RunId;
  attempt: AttemptId;
  item: ItemId;
  checkpoint: CheckpointId;
  transfer: TransferId;
  handoff: HandoffId;
  task: TaskId;
  link: LinkId;
  invite: InviteId;
  move: MoveId;
  pthread: ProviderThreadId;
  effect: EffectId;
  cmd: CommandId;
  req: RequestId;
  inc: IncarnationId;
}
export type IdNoun = keyof IdByNoun;

/** Ids that name a durable actor. */
export const ActorId = z.union([ThreadId, RunId, TransferId, TaskId, LinkId, MoveId]);
export type ActorId = ThreadId | RunId | TransferId | TaskId | LinkId | MoveId;
export const ActorKind = z.enum(["thread", "run", "transfer", "task", "link", "move"]);
export type ActorKind = z.infer<typeof ActorKind>;

/** The kind of actor that an id names; the noun before the first colon. */
export function actorKindOf(id: ActorId): ActorKind {
  return ActorKind.parse(id.slice(0, id.indexOf(":")));
}

const external = z
  .string()
  .min(1)
  .max(512)
  // A lone surrogate would be hashed, and stored, as another character.
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, "an id may hold neither control characters nor lone surrogates");
/** An id that somebody else made (a foreign environment, its thread). Joined by newlines below, hence no control characters. */
export const ExternalId = external;
/** The caller's key of one import; 128 characters at most (contract §6). */
export const ImportHandoffId = external.max(128);

/**
 * The thread id of an import (contract §6): the first 32 hex digits of SHA-256 over source environment, source thread
 * and handoff id, joined by newlines. The same import always names the same thread.
 */
export function importThreadId(sourceEnvironmentId: string, sourceThreadId: string, handoffId: string): ThreadId {
  const digest = createHash("sha256").update([sourceEnvironmentId, sourceThreadId, handoffId].join("\n")).digest("hex");
  return `thread:import:${digest.slice(0, 32)}` as ThreadId;
}

/** The command id of an import's continuation; derived from the thread id, so that a retry starts it at most once. */
export function continuationCommandId(threadId: ThreadId): CommandId {
  return `cmd:continuation:${threadId}` as CommandId;
}
