import { needThread, type Plan } from "../plan.ts";
import { refuse } from "../refused.ts";
import { threadFrom } from "../typed-actors.ts";
import { holdForks, takeOut } from "./thread-delete.ts";

/**
 * Removes a thread's content for good (decision 39): deleted first where it is not, then emptied by an effect, which leaves
 * what forks show of it until the last of them is gone. A person's own word: neither an agent nor a client has it.
 */
export const purgeThread: Plan<"thread.purge"> = (command, context) => {
  if (context.caller.kind !== "user")
    refuse("capability_denied", "person_only", "only a person can purge a thread", "Ask the person whose thread it is.");
  const thread = threadFrom(context.overlay, command.threadId) ?? needThread(context, command.threadId);
  const nothing = { threadId: thread.id, keptFor: [], runIds: [], cancelledTasks: [] };
  if (thread.purge !== undefined && thread.purge.doneAt !== null) return { ...nothing, already: true };
  const taken =
    thread.status === "deleted"
      ? { ...nothing, keptFor: holdForks(context, thread, command).map((fork) => fork.id) }
      : takeOut(context, thread, command);
  context.uow.tell({ to: thread.id, event: { type: "thread.purge_asked" } });
  return { ...taken, already: false };
};

export const threadEmptied: Plan<"thread.emptied"> = ({ threadId, keptUpTo }, context) => {
  context.uow.tell({ to: threadId, event: { type: "thread.emptied", keptUpTo } });
  return {};
};

/** The journal says that it was, and how often; never what. */
export const textPurged: Plan<"thread.text_purged"> = ({ threadId, count }, context) => {
  context.uow.tell({ to: threadId, event: { type: "thread.text_purged", count } });
  return {};
};
