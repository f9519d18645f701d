import type { PublicCommand } from "../../../../schemas/command.ts";
import type { ContextHandoff } from "../../../../schemas/handoff.ts";
import type { EnvironmentId, RequestId, RunId, TaskId, ThreadId, TransferId } from "../../../../schemas/ids.ts";
import type { VisibleItem } from "../../../../schemas/item.ts";
import type { ProviderInstanceId, ProviderThread } from "../../../../schemas/provider.ts";
import type { ResultOf } from "../../../../schemas/results.ts";
import type { Run } from "../../../../schemas/run.ts";
import type { Task } from "../../../../schemas/task.ts";
import type { AppThread } from "../../../../schemas/thread.ts";
import type { ContextTransfer } from "../../../../schemas/transfer.ts";
import type { LinkAnswer } from "../../../../schemas/wire.ts";
import type { TransferStep } from "../../../runtime/environment-api.ts";

export type SideName = "laptop" | "box";

/** What a run's provider was given. `recordedBy` says whose word that is: the provider's own record, or ours. */
export type Given = {
  context: string[];
  message: string;
  opened: "new" | "resume" | "fork";
  native: string;
  recordedBy: "provider" | "environment";
};

type TransferView = { transfer: ContextTransfer; history: TransferStep[]; handoffs: ContextHandoff[] };

/** One environment of the story, wherever it runs. Every method throws when it is refused or waits too long. */
export interface Side {
  readonly name: SideName;
  readonly environmentId: EnvironmentId;
  /** Sends a command under an id that `key` fixes: sent again, it answers the same and does nothing. */
  send<C extends PublicCommand>(command: C, key: string): Promise<ResultOf[C["type"]]>;
  threads(): Promise<AppThread[]>;
  thread(id: ThreadId): Promise<AppThread>;
  runs(id: ThreadId): Promise<Run[]>;
  items(id: ThreadId): Promise<VisibleItem[]>;
  providerThreads(id: ThreadId): Promise<ProviderThread[]>;
  transfersTo(id: ThreadId): Promise<ContextTransfer[]>;
  transfer(id: TransferId): Promise<TransferView>;
  task(id: TaskId): Promise<Task>;
  tasks(): Promise<Task[]>;
  /** The run once it has ended. */
  ended(id: RunId): Promise<Run>;
  /** The task once it has ended. */
  taskEnded(id: TaskId): Promise<Task>;
  /** The peer's answer to a request of ours. */
  answered(id: RequestId): Promise<LinkAnswer>;
  /** What a run's provider was given; null when it was given nothing. */
  given(run: Run): Promise<Given | null>;
  /** How many inputs the providers have accepted for a thread. */
  inputCount(id: ThreadId): Promise<number>;
}

export type Stage = {
  laptop: Side;
  /** Null where there is no broker: then the story ends before the box comes in. */
  box: Side | null;
  /** The provider that the story begins with, and the one that it switches to. */
  providers: { first: ProviderInstanceId; second: ProviderInstanceId };
  /** False with a real model: what it answers is shown, but nobody can promise its words. */
  answersAreScripted: boolean;
};
