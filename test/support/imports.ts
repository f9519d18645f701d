import type { ThreadId } from "../../schemas/ids.ts";
import type { ImportRequest } from "../../schemas/import.ts";
import type { TestEnvironment } from "./environments.ts";

export const sourceEnvironmentId = "env:0197f000-0000-7000-8000-00000000e0f1";
export const sourceThreadId = "thread:0197f000-0000-7000-8000-0000000074e5";

export const threeTurns = [
  { role: "user" as const, text: "My ship is the Heliotrope." },
  { role: "assistant" as const, text: "Noted: the Heliotrope." },
  { role: "user" as const, text: "How long is her main rope?" },
  { role: "assistant" as const, text: "Forty fathoms." },
  { role: "user" as const, text: "Who laid it?" },
  { role: "assistant" as const, text: "The ropewalk at Chatham." },
];

type Wish = Partial<Record<keyof ImportRequest, unknown>>;
export type ImportResult = { threadId: ThreadId; created: boolean; runId: never; continuation: string };

/** The command that imports three turns, but for what a test wants otherwise, right or wrong. */
export function importing(more: Wish = {}) {
  const request = { handoffId: "h1", sourceEnvironmentId, sourceThreadId, title: "Ropes", messages: threeTurns, ...more };
  return { type: "thread.import", import: request };
}

export const sendImport = (env: TestEnvironment, more: Wish = {}) => env.send(importing(more) as never) as Promise<ImportResult>;
