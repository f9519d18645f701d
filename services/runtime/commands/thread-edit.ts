import { mayChange, modeCap, settleModes } from "../access.ts";
import { grantBehind } from "../link-fence.ts";
import { holdPresent, needPresent, needThread, type Plan } from "../plan.ts";

export const renameThread: Plan<"thread.rename"> = (command, context) => {
  const thread = needPresent(context, command.threadId);
  mayChange(context, thread);
  context.uow.tell({ to: thread.id, event: { type: "thread.renamed", title: command.title } });
  return { threadId: thread.id };
};

/** Modes of the messages to come; a run keeps those that it was sent with. */
export const setThreadModes: Plan<"thread.set_modes"> = (command, context) => {
  const thread = needPresent(context, command.threadId);
  mayChange(context, thread);
  const grant = context.caller.kind === "link" ? (grantBehind(context, thread)?.kind ?? null) : null;
  const modes = settleModes(command, thread.modes, modeCap(context, grant));
  context.uow.tell({ to: thread.id, event: { type: "thread.modes_set", modes } });
  return { threadId: thread.id };
};

export const markThread: Plan<"thread.mark"> = (command, context) => {
  const thread = needThread(context, command.threadId);
  mayChange(context, thread);
  // Of a thread that has moved, what a person sees of it here can still be put away.
  if (command.mark !== "archived" && command.mark !== "read") holdPresent(thread);
  context.uow.tell({ to: thread.id, event: { type: command.on ? "thread.marked" : "thread.unmarked", mark: command.mark } });
  return { threadId: thread.id };
};
