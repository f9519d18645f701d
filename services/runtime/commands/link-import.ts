import { type EnvironmentId, importThreadId, type ThreadId } from "../../../schemas/ids.ts";
import { type ImportMessage, ImportRequest } from "../../../schemas/import.ts";
import { limits } from "../../../schemas/limits.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import { type ModeWish, mayChange, mayUseLink, modeCap, settleModes } from "../access.ts";
import { conversationOf } from "../conversation.ts";
import { measuredDigest } from "../digest.ts";
import { historyOf, latestStablePoint } from "../history.ts";
import { needPresent, type Plan, type PlanContext } from "../plan.ts";
import { refuse } from "../refused.ts";
import { holdImportSize } from "./thread-import.ts";

/** An import of given messages at a linked environment. */
export const importOverLink: Plan<"link.import"> = (command, context) => {
  mayUseLink(context, null, command.environmentId);
  const request = { ...command.import, ...withinCaller(context, command.import), sourceEnvironmentId: context.settings.environmentId };
  return ask(context, command.environmentId, request, command.import.sourceThreadId);
};

/**
 * A caller can only narrow, also what starts elsewhere (contract §8): what it asks for beyond itself is refused, and where it
 * asks for nothing and is narrower than this environment's default, it says so to the peer.
 */
function withinCaller(context: PlanContext, wish: ModeWish): ModeWish {
  const usual = context.settings.modes;
  const modes = settleModes(wish, usual, modeCap(context));
  return {
    ...(modes.runtimeMode === usual.runtimeMode ? {} : { runtimeMode: modes.runtimeMode }),
    ...(modes.interactionMode === usual.interactionMode ? {} : { interactionMode: modes.interactionMode }),
  };
}

/** A thread's conversation, up to its latest stable point, as an import at a linked environment. */
export const importThreadTo: Plan<"thread.import_to"> = (command, context) => {
  const thread = needPresent(context, command.threadId);
  mayChange(context, thread);
  mayUseLink(context, thread, command.environmentId);
  const request = {
    handoffId: command.handoffId,
    sourceEnvironmentId: context.settings.environmentId,
    sourceThreadId: thread.id,
    title: command.title ?? thread.title,
    messages: messagesOf(context, thread),
    ...withinCaller(context, {}),
    ...(command.continuationPrompt === undefined ? {} : { continuationPrompt: command.continuationPrompt }),
    ...(command.provider === undefined ? {} : { provider: command.provider }),
  };
  const parsed = ImportRequest.safeParse(request);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    refuse("invalid_request", "limit_exceeded", `${issue?.path.join(".")}: ${issue?.message}`, "Import a shorter part of it.");
  }
  return ask(context, command.environmentId, parsed.data, thread.id);
};

function ask(context: PlanContext, to: EnvironmentId, request: ImportRequest, subject: string): Record<string, unknown> {
  const requestId = context.uow.ids.next("req");
  const threadId = importThreadId(request.sourceEnvironmentId, request.sourceThreadId, request.handoffId) satisfies ThreadId;
  const bytes = context.outbox.ask(to, requestId, { kind: "thread.import", import: request }, subject);
  // The message is a little larger than the request; what is near the limit is measured exactly.
  if (bytes > context.settings.importRequestBytes) holdImportSize(context, measuredDigest(request).bytes);
  return { requestId, threadId };
}

/** What people and the agent said: user and assistant messages, whole, inherited ones included, oldest first. */
function messagesOf(context: PlanContext, thread: AppThread): ImportMessage[] {
  const stable = latestStablePoint(thread);
  if (stable === null)
    refuse("invalid_request", "no_stable_point", `${thread.id} has no completed run yet`, "Wait until a run has completed.");
  const upTo = stable.threadId === thread.id ? stable.ordinal : 0;
  const messages: ImportMessage[] = conversationOf(context.overlay, historyOf(context.overlay, thread.id, upTo));
  if (messages.length === 0) refuse("invalid_request", "nothing_to_import", `${thread.id} holds no message`, "Send it a message first.");
  if (messages.length > limits.importMessages)
    refuse(
      "invalid_request",
      "limit_exceeded",
      `${messages.length} messages, an import takes ${limits.importMessages}`,
      "Fork it at a later point, or import a part.",
    );
  return messages;
}
