import type { z } from "zod";
import { AccessKind } from "../../schemas/access.ts";
import { Checkpoint } from "../../schemas/checkpoint.ts";
import { ClientView, PairingOffer, PairingRequest } from "../../schemas/client.ts";
import { ForkPoint, PublicCommand } from "../../schemas/command.ts";
import { EnvironmentPatch, EnvironmentSnapshot, LinkLine, OlderThreads, ThreadLine } from "../../schemas/environment-view.ts";
import { Change } from "../../schemas/feed.ts";
import { ContextHandoff, HandoffBudget, LeftOut } from "../../schemas/handoff.ts";
import {
  ActorId,
  ActorKind,
  AttemptId,
  CheckpointId,
  ClientId,
  CommandId,
  EnvironmentId,
  HandoffId,
  ImportHandoffId,
  IncarnationId,
  ItemId,
  LinkId,
  MoveId,
  ProjectId,
  ProviderThreadId,
  RequestId,
  RunId,
  TaskId,
  ThreadId,
  TransferId,
} from "../../schemas/ids.ts";
import { ImportMessage, ImportRequest } from "../../schemas/import.ts";
import { BlobRef, Content, ItemBody, TurnItem, VisibleItem } from "../../schemas/item.ts";
import { Grant, Link, LinkPosition, LinkPositions } from "../../schemas/link.ts";
import { InteractionMode, Modes, RuntimeMode } from "../../schemas/modes.ts";
import { Move, MoveLack, MoveStatus } from "../../schemas/move.ts";
import { Need, NeedKind } from "../../schemas/need.ts";
import { Project, RepositoryIdentity } from "../../schemas/project.ts";
import { Coverage, NativeRef, ProviderCapabilities, ProviderChoice, ProviderInstanceId, ProviderThread } from "../../schemas/provider.ts";
import { Refusal, RefusalCode } from "../../schemas/refusal.ts";
import { Attempt, OpenPlan, OpenRequest, Run, StartPlan } from "../../schemas/run.ts";
import { LateAnswer, Task, TaskStatus } from "../../schemas/task.ts";
import { Digest, MessageText, Timestamp, Title } from "../../schemas/text.ts";
import {
  AppThread,
  AppThreadLineage,
  Departed,
  InheritedPoint,
  LinkOrigin,
  StablePoint,
  ThreadMark,
  Workspace,
} from "../../schemas/thread.ts";
import {
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
} from "../../schemas/thread-view.ts";
import { ContextSourcePoint, ContextTransfer, ContextTransferResolution, ResultOutcome, TransferStatus } from "../../schemas/transfer.ts";
import { LinkAnswer } from "../../schemas/wire.ts";

/** The names that the document gives to the vocabulary, which are its own. */
export const vocabulary: Readonly<Record<string, z.ZodType>> = {
  ...{
    AccessKind,
    ActorId,
    ActorKind,
    AttemptId,
    CheckpointId,
    ClientId,
    CommandId,
    EnvironmentId,
    HandoffId,
    ImportHandoffId,
    IncarnationId,
    ItemId,
  },
  ...{ LinkId, MoveId, ProjectId, ProviderThreadId, RequestId, RunId, TaskId, ThreadId, TransferId },
  ...{ Digest, MessageText, Timestamp, Title, RuntimeMode, InteractionMode, Modes, Refusal, RefusalCode },
  ...{ AppThread, AppThreadLineage, Departed, InheritedPoint, LinkOrigin, StablePoint, ThreadMark, Workspace },
  ...{ Run, Attempt, OpenPlan, OpenRequest, StartPlan, Checkpoint },
  ...{ TurnItem, VisibleItem, ItemBody, Content, BlobRef, Change },
  ...{ ContextTransfer, ContextSourcePoint, ContextTransferResolution, ResultOutcome, TransferStatus },
  ...{ ContextHandoff, HandoffBudget, LeftOut, Task, TaskStatus, LateAnswer },
  ...{ Need, NeedKind, Move, MoveLack, MoveStatus },
  ...{ Link, LinkPosition, LinkPositions, LinkAnswer, Grant, Project, RepositoryIdentity },
  ...{ Coverage, NativeRef, ProviderCapabilities, ProviderChoice, ProviderInstanceId, ProviderThread },
  ...{ ThreadSnapshot, ThreadPatch, OlderTurns, ThreadFacts, ThreadState, TurnView, RunView, ItemView, ViewText, TransferView, TaskView },
  ...{ EnvironmentSnapshot, EnvironmentPatch, OlderThreads, ThreadLine, LinkLine },
  ...{ ClientView, PairingOffer, PairingRequest, PublicCommand, ForkPoint, ImportRequest, ImportMessage },
};
