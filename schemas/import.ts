import { z } from "zod";
import { ExternalId, ImportHandoffId, ProjectId } from "./ids.ts";
import { limits } from "./limits.ts";
import { InteractionMode, RuntimeMode } from "./modes.ts";
import { ProviderChoice } from "./provider.ts";
import { Text, Timestamp, Title } from "./text.ts";

export const ImportMessage = z.strictObject({
  role: z.enum(["user", "assistant"]),
  text: Text.max(limits.importMessageChars),
  createdAt: Timestamp.optional(),
});
export type ImportMessage = z.infer<typeof ImportMessage>;

/** What `t3_thread_import` and `ropewalk import` take (contract §6). */
export const ImportRequest = z.strictObject({
  handoffId: ImportHandoffId,
  sourceEnvironmentId: ExternalId,
  sourceThreadId: ExternalId,
  title: Title.optional(),
  messages: z.array(ImportMessage).min(1).max(limits.importMessages),
  continuationPrompt: Text.min(1).max(limits.importPromptChars).optional(),
  projectId: ProjectId.optional(),
  /** Must be one of the project's worktrees, by real path. */
  worktreePath: Text.optional(),
  runtimeMode: RuntimeMode.optional(),
  interactionMode: InteractionMode.optional(),
  provider: ProviderChoice.optional(),
});
export type ImportRequest = z.infer<typeof ImportRequest>;
