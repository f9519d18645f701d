/**
 * The vocabulary, for use outside: every record, command, event and wire message as a Zod schema with its type.
 * A list of names, nothing else; nothing inside imports it.
 */
export { AccessKind } from "./access.ts";
export {
  BackupFile,
  BackupMade,
  BackupManifest,
  BackupProgress,
  BackupRequest,
  BackupView,
  backupFormat,
  backupVersion,
  Restored,
} from "./backup.ts";
export { BundleEnd, BundleHeader, type BundleKind, BundleRecord, bundleFormat, bundleVersion, type ThreadBundle } from "./bundle.ts";
export { Checkpoint } from "./checkpoint.ts";
export { ClientView, PairingOffer, PairingRequest } from "./client.ts";
export {
  Caller,
  type Command,
  CommandEnvelope,
  type CommandType,
  ForkPoint,
  PublicCommand,
  Receipt,
} from "./command.ts";
export { EnvironmentConfig, HttpConfig, ProviderConfig } from "./config.ts";
export { Effect, type EffectKind, EffectRequest, EffectState } from "./effect.ts";
export type { Emission, OutgoingNotice, Tell } from "./emission.ts";
export { EnvironmentPatch, EnvironmentSnapshot, LinkLine, OlderThreads, ThreadLine } from "./environment-view.ts";
export { stamp, type Unstamped } from "./events/common.ts";
export { LinkCreated, LinkEvent } from "./events/link.ts";
export { MoveCreated, MoveEvent } from "./events/move.ts";
export { RunCreated, RunEvent } from "./events/run.ts";
export { TaskCreated, TaskEvent } from "./events/task.ts";
export { ThreadCreated, ThreadEvent } from "./events/thread.ts";
export { TransferCreated, TransferEvent } from "./events/transfer.ts";
export { Change } from "./feed.ts";
export { ContextHandoff, HandoffBudget, LeftOut } from "./handoff.ts";
export {
  ActorId,
  ActorKind,
  AttemptId,
  actorKindOf,
  CheckpointId,
  ClientId,
  CommandId,
  continuationCommandId,
  EffectId,
  EnvironmentId,
  ExternalId,
  HandoffId,
  type IdByNoun,
  type IdNoun,
  ImportHandoffId,
  IncarnationId,
  ItemId,
  importThreadId,
  LinkId,
  MoveId,
  ProjectId,
  ProviderThreadId,
  RequestId,
  RunId,
  TaskId,
  ThreadId,
  TransferId,
} from "./ids.ts";
export { ImportMessage, ImportRequest } from "./import.ts";
export { BlobRef, Content, ItemBody, type ItemKind, NewItem, TurnItem, VisibleItem } from "./item.ts";
export { limits } from "./limits.ts";
export {
  Grant,
  type GrantKind,
  Link,
  LinkBroker,
  LinkConfig,
  LinkContext,
  LinkInput,
  LinkPosition,
  LinkPositions,
  LinkStatus,
  PublicKey,
} from "./link.ts";
export { EnvironmentLiveLine, ThreadLiveLine } from "./live.ts";
export { broadestModes, defaultModes, escalation, InteractionMode, Modes, narrower, RuntimeMode } from "./modes.ts";
export {
  isEndedMove,
  Move,
  MoveChecked,
  MoveContext,
  MovedCode,
  MoveInput,
  MoveLack,
  MoveOffer,
  MovePreflight,
  MoveStatus,
  MoveWait,
} from "./move.ts";
export { Need, NeedKind } from "./need.ts";
export { InviteOffer, InviteRequest, InviteView, JoinRequest, JoinResult, PairingCode } from "./pairing.ts";
export { Project, RepositoryIdentity } from "./project.ts";
export {
  Coverage,
  NativeRef,
  OrdinalRange,
  ProviderCapabilities,
  ProviderChoice,
  ProviderInstanceId,
  ProviderThread,
  RefStrength,
} from "./provider.ts";
export { PurgePlace, PurgeReport, PurgeRest, ToldSession } from "./purge.ts";
export { dependsOnOutside, Refusal, RefusalCode, refusal } from "./refusal.ts";
export { commandResults, type ResultOf } from "./results.ts";
export { RetentionConfig, RetentionView } from "./retention.ts";
export {
  Attempt,
  endedRunStatuses,
  isEndedRun,
  OpenPlan,
  OpenRequest,
  Run,
  RunContext,
  RunEnding,
  RunInput,
  RunStatus,
  StartPlan,
} from "./run.ts";
export { ReportedItem, SystemCommand } from "./system-command.ts";
export { isEndedTask, LateAnswer, Task, TaskContext, TaskInput, TaskStatus } from "./task.ts";
export { Digest, MessageText, Text, Timestamp, Title } from "./text.ts";
export {
  AppThread,
  AppThreadLineage,
  Departed,
  ImportSource,
  InheritedPoint,
  LinkOrigin,
  MayAlsoLive,
  MovedFrom,
  StablePoint,
  TaskRef,
  ThreadContext,
  ThreadInput,
  ThreadMark,
  ThreadStatus,
  Workspace,
  WorkspaceWish,
} from "./thread.ts";
export {
  ItemView,
  OlderTurns,
  RunView,
  TaskView,
  ThreadFacts,
  ThreadPatch,
  ThreadSnapshot,
  ThreadState,
  TransferView,
  TurnView,
  ViewText,
} from "./thread-view.ts";
export {
  ContextSourcePoint,
  ContextTransfer,
  ContextTransferResolution,
  ResultOutcome,
  ThreadRelationshipKind,
  TransferClaim,
  TransferContext,
  TransferInput,
  TransferStatus,
} from "./transfer.ts";
export { BlobPointer, EnvelopeHead, LinkAnswer, LinkBody, LinkControl, LinkNotice, LinkRequest } from "./wire.ts";
