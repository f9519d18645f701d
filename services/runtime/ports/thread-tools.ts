import type { ThreadId } from "../../../schemas/ids.ts";

/** Where an agent finds this environment's tools (MCP over streamable HTTP), and the token that says which agent it is. */
export type AppTools = { url: string; token: string };

/** Lets the agents of threads reach the tools: a token for each open provider session, taken back when it is let go. */
export interface ThreadToolsPort {
  /** Null while the tools are served nowhere. */
  issue(session: { threadId: ThreadId; instance: string }): AppTools | null;
  revoke(token: string): void;
}
