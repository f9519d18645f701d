import type { Caller, Command, CommandType } from "../../schemas/command.ts";
import type { CommandId, ItemId, RunId, TaskId, ThreadId } from "../../schemas/ids.ts";
import type { ItemBody, NewItem } from "../../schemas/item.ts";
import type { Run } from "../../schemas/run.ts";
import type { Task } from "../../schemas/task.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { keepItemBody } from "./content.ts";
import type { Facts } from "./facts.ts";
import type { Outbox } from "./outbox.ts";
import type { Overlay } from "./overlay.ts";
import { refuse } from "./refused.ts";
import type { Scratch, Settings } from "./settings.ts";
import { runFrom, taskFrom, threadFrom } from "./typed-actors.ts";
import type { UnitOfWork } from "./unit-of-work.ts";

/** What a plan works with: what was decided before it in this batch, who asks, and what the outside said beforehand. */
export type PlanContext = {
  uow: UnitOfWork;
  overlay: Overlay;
  outbox: Outbox;
  settings: Settings;
  caller: Caller;
  commandId: CommandId;
  facts: Facts;
  /** The project of threads that belong to none. */
  scratch: Scratch;
};

export type CommandOf<T extends CommandType> = Extract<Command, { type: T }>;

/** Decides one command: reads, refuses (by `refuse`), and says what happens. Returns the receipt's result. */
export type Plan<T extends CommandType> = (command: CommandOf<T>, context: PlanContext) => Record<string, unknown>;

export function needThread(context: PlanContext, id: ThreadId): AppThread {
  const thread = threadFrom(context.overlay, id);
  if (thread === null || thread.status === "deleted")
    refuse("thread_not_found", "unknown_thread", `there is no thread ${id}`, "List threads with: ropewalk ls");
  return thread;
}

/** A thread that lives here: one that is on its way, or that has moved, is changed no more (case I06). */
export function needPresent(context: PlanContext, id: ThreadId): AppThread {
  const thread = needThread(context, id);
  holdPresent(thread);
  return thread;
}

export function holdPresent({ id, status, departed, moving }: AppThread): void {
  if (status === "departing")
    refuse("thread_not_sendable", "departing", `${id} is on its way to another environment`, `Wait for its answer: ropewalk show ${id}`, {
      moveId: moving,
    });
  if (status === "departed" && departed !== undefined)
    refuse(
      "thread_departed",
      "departed",
      `${id} has moved to ${departed.environmentId}`,
      `Go on there with ${departed.threadId}, or move it back from there.`,
      departed,
    );
}

export function needRun(context: PlanContext, id: RunId): Run {
  const run = runFrom(context.overlay, id);
  if (run === null) refuse("run_not_found", "unknown_run", `there is no run ${id}`, "List runs with: ropewalk run list THREAD");
  return run;
}

export function needTask(context: PlanContext, id: TaskId): Task {
  const task = taskFrom(context.overlay, id);
  if (task === null) refuse("task_not_found", "unknown_task", `there is no task ${id}`, "List tasks with: ropewalk task list");
  return task;
}

export function addItem(
  context: PlanContext,
  item: Pick<NewItem, "threadId" | "runId" | "runOrdinal"> & { body: ItemBody } & Partial<NewItem>,
): ItemId {
  const id = context.uow.ids.next("item");
  context.overlay.addItem({
    nativeId: null,
    truncated: false,
    createdAt: context.uow.now,
    ...item,
    id,
    body: keepItemBody(context.overlay, item.body),
  });
  return id;
}
