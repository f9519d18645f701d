import type { Change } from "../../schemas/feed.ts";
import type { MoveId, RunId, TaskId, ThreadId, TransferId } from "../../schemas/ids.ts";
import type { Environment } from "../runtime/environment-api.ts";

const remembered = 10_000;

/** Whether a change is about one thread: the thread itself, its runs and items, and the transfers and tasks that it takes part in. */
export function concerns(environment: Environment, thread: ThreadId): (change: Change) => boolean {
  // An actor's thread never changes, so each is looked up once.
  const known = new Map<string, boolean>();
  const look = (change: Extract<Change, { type: "actor" }>): boolean => {
    switch (change.kind) {
      case "thread":
        return change.actorId === thread;
      case "run":
        return environment.runs.get(change.actorId as RunId)?.threadId === thread;
      case "transfer": {
        const transfer = environment.transfers.get(change.actorId as TransferId);
        return transfer !== null && (transfer.sourceThreadId === thread || transfer.targetThreadId === thread);
      }
      case "task": {
        const task = environment.tasks.get(change.actorId as TaskId);
        return task !== null && (task.parentThreadId === thread || task.childThreadId === thread);
      }
      case "move":
        return environment.moves.get(change.actorId as MoveId)?.threadId === thread;
      case "link":
        return false;
    }
  };
  return (change) => {
    if (change.type === "item") return change.threadId === thread;
    let answer = known.get(change.actorId);
    if (answer === undefined) {
      answer = look(change);
      // A task learns its child's thread later than it is made.
      if (answer || change.kind !== "task") known.set(change.actorId, answer);
      if (known.size > remembered) known.clear();
    }
    return answer;
  };
}
