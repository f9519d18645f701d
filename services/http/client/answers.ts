import type { Chart } from "../../../actors/chart.ts";
import type { Checkpoint } from "../../../schemas/checkpoint.ts";
import type { ContextHandoff } from "../../../schemas/handoff.ts";
import type { EnvironmentId, TransferId } from "../../../schemas/ids.ts";
import type { VisibleItem } from "../../../schemas/item.ts";
import type { Project } from "../../../schemas/project.ts";
import type { ProviderThread } from "../../../schemas/provider.ts";
import type { Run } from "../../../schemas/run.ts";
import type { Task } from "../../../schemas/task.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import type { ContextTransfer } from "../../../schemas/transfer.ts";
import type { LinkAnswer } from "../../../schemas/wire.ts";
import type { Health, LinkView, ProviderInstance, TransferStep } from "../../runtime/environment-api.ts";

/** What each read answers; `commit` is the commit that it is the state of. */
type At<T> = { commit: number } & T;
export type EnvironmentAnswer = At<{ environment: { id: EnvironmentId; name: string; dir: string; pid: number; node: string } }>;
export type HealthAnswer = At<{ health: Health }>;
export type ThreadsAnswer = At<{ threads: AppThread[] }>;
export type ThreadAnswer = At<{ thread: AppThread }>;
export type ItemsAnswer = At<{ items: VisibleItem[] }>;
export type RunsAnswer = At<{ runs: Run[] }>;
export type CheckpointsAnswer = At<{ checkpoints: Checkpoint[] }>;
export type ProviderThreadsAnswer = At<{ providerThreads: ProviderThread[] }>;
export type SnapshotAnswer = At<{
  thread: AppThread;
  runs: Run[];
  items: VisibleItem[];
  transfers: ContextTransfer[];
  tasks: Task[];
  /** Unfinished text of the active run. */
  progress: string | null;
}>;
export type RunAnswer = At<{ run: Run; progress: string | null }>;
export type RunWaitAnswer = At<{ run: Run }>;
/** `leftOut`: how many items a retold transfer left out, by its id. */
export type TransfersAnswer = At<{ transfers: ContextTransfer[]; leftOut: Record<string, number> }>;
export type TransferAnswer = At<{
  transfer: ContextTransfer;
  history: TransferStep[];
  handoffs: ContextHandoff[];
  leftOut: Record<TransferId, number>;
}>;
export type HandoffAnswer = At<{ handoff: ContextHandoff }>;
export type TasksAnswer = At<{ tasks: Task[] }>;
export type TaskAnswer = At<{ task: Task }>;
export type LinksAnswer = At<{ links: LinkView[] }>;
export type LinkViewAnswer = At<{ link: LinkView }>;
export type RequestAnswer = At<{ answer: LinkAnswer | null }>;
export type ProjectsAnswer = At<{ projects: Project[] }>;
export type ProvidersAnswer = At<{ providers: ProviderInstance[] }>;
export type ResolveAnswer = At<{ ids: string[] }>;
export type ChartAnswer = Chart & { mermaid: string };
