/**
 * The client of an environment, for programs: over its unix socket on this machine, or over http(s) with a token, in Node as
 * in a browser. A list of names, nothing else; nothing inside imports it.
 */
export { connect, connectLocal, type LocalClient } from "../client.ts";
export type {
  ChartAnswer,
  CheckpointsAnswer,
  EnvironmentAnswer,
  HandoffAnswer,
  HealthAnswer,
  ItemAnswer,
  ItemsAnswer,
  LinksAnswer,
  LinkViewAnswer,
  NeedsAnswer,
  ProjectsAnswer,
  ProvidersAnswer,
  ProviderThreadsAnswer,
  RequestAnswer,
  ResolveAnswer,
  RunAnswer,
  RunsAnswer,
  RunWaitAnswer,
  SnapshotAnswer,
  TaskAnswer,
  TasksAnswer,
  ThreadAnswer,
  ThreadsAnswer,
  TransferAnswer,
  TransfersAnswer,
} from "./answers.ts";
export { applyEnvironmentPatch, withOlderThreads } from "./apply-environment.ts";
export { applyThreadPatch, withOlderTurns } from "./apply-thread.ts";
export type { Accepted, EnvironmentClient, ItemPart } from "./environment-client.ts";
export { EnvironmentRefused, EnvironmentUnreachable } from "./failures.ts";
export type { FeedLine } from "./feed-line.ts";
export type { FollowOptions } from "./follow.ts";
export type { FollowViewOptions } from "./follow-view.ts";
export type { UrlOptions } from "./url-transport.ts";
