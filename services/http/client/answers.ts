import type { z } from "zod";
import type * as schemas from "../answers.ts";

/** What each read answers; `commit` is the commit that it is the state of. */
export type EnvironmentAnswer = z.output<typeof schemas.EnvironmentAnswer>;
export type HealthAnswer = z.output<typeof schemas.HealthAnswer>;
export type ThreadsAnswer = z.output<typeof schemas.ThreadsAnswer>;
export type ThreadAnswer = z.output<typeof schemas.ThreadAnswer>;
export type ItemsAnswer = z.output<typeof schemas.ItemsAnswer>;
export type ItemAnswer = z.output<typeof schemas.ItemAnswer>;
export type RunsAnswer = z.output<typeof schemas.RunsAnswer>;
export type CheckpointsAnswer = z.output<typeof schemas.CheckpointsAnswer>;
export type ProviderThreadsAnswer = z.output<typeof schemas.ProviderThreadsAnswer>;
export type SnapshotAnswer = z.output<typeof schemas.SnapshotAnswer>;
export type RunAnswer = z.output<typeof schemas.RunAnswer>;
export type RunWaitAnswer = z.output<typeof schemas.RunWaitAnswer>;
export type TransfersAnswer = z.output<typeof schemas.TransfersAnswer>;
export type TransferAnswer = z.output<typeof schemas.TransferAnswer>;
export type HandoffAnswer = z.output<typeof schemas.HandoffAnswer>;
export type NeedsAnswer = z.output<typeof schemas.NeedsAnswer>;
export type TasksAnswer = z.output<typeof schemas.TasksAnswer>;
export type TaskAnswer = z.output<typeof schemas.TaskAnswer>;
export type LinksAnswer = z.output<typeof schemas.LinksAnswer>;
export type LinkViewAnswer = z.output<typeof schemas.LinkViewAnswer>;
export type RequestAnswer = z.output<typeof schemas.RequestAnswer>;
export type ProjectsAnswer = z.output<typeof schemas.ProjectsAnswer>;
export type ProvidersAnswer = z.output<typeof schemas.ProvidersAnswer>;
export type ResolveAnswer = z.output<typeof schemas.ResolveAnswer>;
export type ChartAnswer = z.output<typeof schemas.ChartAnswer>;
