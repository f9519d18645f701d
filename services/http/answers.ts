import { z } from "zod";
import type { Chart } from "../../actors/chart.ts";
import { ChangedFile, Checkpoint } from "../../schemas/checkpoint.ts";
import { ContextHandoff } from "../../schemas/handoff.ts";
import { ActorKind, EnvironmentId, RequestId, RunId, ThreadId, TransferId } from "../../schemas/ids.ts";
import { TurnItem, VisibleItem } from "../../schemas/item.ts";
import { Grant, Link, LinkPosition } from "../../schemas/link.ts";
import { Move } from "../../schemas/move.ts";
import { Need } from "../../schemas/need.ts";
import { Project } from "../../schemas/project.ts";
import { ProviderCapabilities, ProviderThread } from "../../schemas/provider.ts";
import { PurgeReport } from "../../schemas/purge.ts";
import { RetentionView } from "../../schemas/retention.ts";
import { Run } from "../../schemas/run.ts";
import { Task } from "../../schemas/task.ts";
import { Timestamp } from "../../schemas/text.ts";
import { AppThread } from "../../schemas/thread.ts";
import { ContextTransfer, TransferStatus } from "../../schemas/transfer.ts";
import { LinkAnswer } from "../../schemas/wire.ts";
import type { ProviderInstance, Health as RuntimeHealth, LinkView as RuntimeLinkView } from "../runtime/environment-api.ts";
import type { Difference as RuntimeDifference, WorkspaceReport as RuntimeWorkspaceReport } from "../runtime/ports/workspaces.ts";
import { Next } from "./page.ts";

/** What the reads answer. `commit` is the commit that it is the state of: the feed goes on after it. */
const commit = z.number().int().nonnegative();
const at = <T extends z.ZodRawShape>(shape: T) => z.object({ commit, ...shape });

export const EnvironmentAnswer = at({
  environment: z.object({ id: EnvironmentId, name: z.string(), dir: z.string(), pid: z.number().int(), node: z.string() }),
});

const Health = z.object({
  environmentId: EnvironmentId,
  dir: z.string(),
  incarnation: z.string(),
  isNewIncarnation: z.boolean(),
  commits: z.number().int().nonnegative(),
  counts: z.record(ActorKind, z.record(z.string(), z.number().int().nonnegative())),
  setAside: z.array(z.object({ id: z.string(), reason: z.string() })),
  effectsSetAside: z.array(z.object({ id: z.string(), kind: z.string(), note: z.string() })),
  retention: RetentionView,
}) satisfies z.ZodType<RuntimeHealth>;
export const HealthAnswer = at({ health: Health });

const WorkspaceReport = z.object({
  worktrees: z.array(z.object({ threadId: ThreadId, path: z.string(), bytes: z.number().int().nonnegative(), isWhole: z.boolean() })),
  checkpoints: z.number().int().nonnegative(),
  repositories: z.number().int().nonnegative(),
  findings: z.array(z.object({ state: z.enum(["note", "wrong"]), text: z.string(), hint: z.string() })),
}) satisfies z.ZodType<RuntimeWorkspaceReport>;
export const PurgeAnswer = at({ report: PurgeReport });
export const WorkspacesAnswer = at({ workspaces: WorkspaceReport });

export const DifferenceAnswer = at({
  difference: z.object({ files: z.array(ChangedFile), patch: z.string(), isCut: z.boolean() }) satisfies z.ZodType<RuntimeDifference>,
});
/** `files`: what would change in the thread's own worktree; null: it has none, and its folder stays as it is. */
export const UndoPreviewAnswer = at({ runs: z.array(Run), to: RunId.nullable(), files: z.array(ChangedFile).nullable() });

export const ProjectsAnswer = at({ projects: z.array(Project) });
export const ProjectAnswer = at({ project: Project });
export const ProvidersAnswer = at({
  providers: z.array(
    z.object({ instance: z.string(), kind: z.string(), capabilities: ProviderCapabilities }) satisfies z.ZodType<ProviderInstance>,
  ),
});
export const ResolveAnswer = at({ ids: z.array(z.string()) });

export const ThreadsAnswer = at({ threads: z.array(AppThread), next: Next });
export const ThreadAnswer = at({ thread: AppThread });
export const ItemsAnswer = at({ items: z.array(VisibleItem), next: Next });
export const ItemAnswer = at({ item: TurnItem });
export const RunsAnswer = at({ runs: z.array(Run), next: Next });
export const CheckpointsAnswer = at({ checkpoints: z.array(Checkpoint), next: Next });
export const ProviderThreadsAnswer = at({ providerThreads: z.array(ProviderThread) });
export const SnapshotAnswer = at({
  thread: AppThread,
  runs: z.array(Run),
  items: z.array(VisibleItem),
  transfers: z.array(ContextTransfer),
  tasks: z.array(Task),
  /** Unfinished text of the active run. */
  progress: z.string().nullable(),
  /** Where each listing goes on, as the cursor of its own route. */
  next: z.object({ runs: Next, items: Next, transfers: Next, tasks: Next }),
});

export const RunAnswer = at({ run: Run, progress: z.string().nullable() });
export const RunWaitAnswer = at({ run: Run });

/** How many items each retold transfer left out, by its id (decision 49). */
const LeftOutCounts = z.record(TransferId, z.number().int().nonnegative());
const TransferStep = z.object({
  commit,
  at: Timestamp,
  event: z.string(),
  from: TransferStatus.nullable(),
  to: TransferStatus,
});
export const TransfersAnswer = at({ transfers: z.array(ContextTransfer), leftOut: LeftOutCounts, next: Next });
export const TransferAnswer = at({
  transfer: ContextTransfer,
  history: z.array(TransferStep),
  handoffs: z.array(ContextHandoff),
  leftOut: LeftOutCounts,
});
export const TransferHistoryAnswer = at({ history: z.array(TransferStep) });
export const HandoffAnswer = at({ handoff: ContextHandoff });

export const NeedsAnswer = at({ needs: z.array(Need) });

export const TasksAnswer = at({ tasks: z.array(Task), next: Next });
export const TaskAnswer = at({ task: Task });

export const MovesAnswer = at({ moves: z.array(Move), next: Next });
export const MoveAnswer = at({ move: Move });

const LinkView = Link.extend({
  grants: z.array(Grant).readonly(),
  fingerprint: z.string().nullable(),
  sent: LinkPosition,
  receipted: LinkPosition,
  received: LinkPosition.nullable(),
  backlog: z.number().int().nonnegative(),
  keptMessages: z.array(z.object({ epoch: z.number().int(), number: z.number().int(), reason: z.string() })),
  openRequests: z.array(z.object({ requestId: RequestId, kind: z.string(), subject: z.string() })),
  statistics: z.record(z.string(), z.unknown()).nullable(),
}) satisfies z.ZodType<RuntimeLinkView>;
export const LinksAnswer = at({ links: z.array(LinkView) });
export const LinkViewAnswer = at({ link: LinkView });
/** Null while the request is open. */
export const RequestAnswer = at({ answer: LinkAnswer.nullable() });

export const ChartsAnswer = z.object({ kinds: z.array(ActorKind) });
const name = z.string();
const verdict = z.enum(["accept", "guarded, else ignored", "guarded, else refused", "ignore", "illegal"]);
export const ChartAnswer = z.object({
  kind: ActorKind,
  initial: name.nullable(),
  states: z.array(z.object({ path: name, parent: name.nullable(), initial: name.nullable(), isFinal: z.boolean() })),
  transitions: z.array(z.object({ from: name, event: name, to: z.array(name), guard: name.nullable(), actions: z.array(name) })),
  /** By state, then by event. */
  legality: z.record(name, z.record(name, z.object({ verdict, targets: z.array(name) }))),
  /** The drawing, as Mermaid's text. */
  mermaid: z.string(),
}) satisfies z.ZodType<Chart & { mermaid: string }>;
export const ShutdownAnswer = z.object({ ok: z.literal(true), pid: z.number().int() });
