import { mayChange } from "../access.ts";
import { needPresent, type Plan } from "../plan.ts";
import { needProvider } from "./thread-create.ts";

/** Says who is to serve the next message. The switch itself happens when a message is delivered (contract §6). */
export const switchProvider: Plan<"thread.switch"> = (command, context) => {
  const thread = needPresent(context, command.threadId);
  mayChange(context, thread);
  needProvider(context, command.provider);
  context.uow.tell({ to: thread.id, event: { type: "thread.provider_preferred", provider: command.provider } });
  return { threadId: thread.id, provider: command.provider.instance };
};
