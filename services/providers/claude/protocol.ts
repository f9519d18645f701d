/**
 * What this adapter reads and says of the Agent SDK's messages and options (measured on 0.3.332), and nothing more. Another
 * program made them: every field that is not needed to go on is optional; unknown kinds and fields are passed over.
 */
export type Block = {
  type: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  input?: Record<string, unknown>;
  tool_use_id?: string;
  content?: unknown;
  is_error?: boolean;
};

/** Any message of the SDK's stream; which fields there are depends on `type` and `subtype`. */
export type Frame = {
  type: string;
  subtype?: string;
  uuid?: string;
  session_id?: string;
  /** Of what a subagent says: the call that started it. */
  parent_tool_use_id?: string | null;
  message?: { id?: string; model?: string; content?: string | Block[]; stop_reason?: string | null };
  /** A tool's own output, in a shape of its own for each tool. */
  tool_use_result?: unknown;
  aborted?: boolean;
  error?: string;
  is_api_error_message?: boolean;
  event?: { type: string; content_block?: Block; delta?: { type: string; text?: string } };
  command_uuid?: string;
  state?: string;
  user_message_uuid?: string;
  user_message_uuids?: string[];
  is_error?: boolean;
  terminal_reason?: string;
  stop_reason?: string | null;
  api_error_status?: number | null;
  api_error?: string;
  result?: string;
  errors?: string[];
  origin?: { kind?: string };
  modelUsage?: Record<string, { contextWindow?: number }>;
};

export type UserMessage = {
  type: "user";
  /** Ours; the session keeps it as its own. */
  uuid: string;
  message: { role: "user"; content: { type: "text"; text: string }[] };
  parent_tool_use_id: null;
};

/** Where Claude Code may write down that it need not ask again; only ever for the session. */
export type PermissionUpdate = { type: string; destination?: string; [field: string]: unknown };

export type PermissionRequest = {
  tool: string;
  input: Record<string, unknown>;
  toolUseId: string;
  /** One sentence, where Claude Code has one. */
  title?: string;
  description?: string;
  reason?: string;
  suggestions?: PermissionUpdate[];
  /** It must not be offered as something that need not be asked again. */
  onceOnly?: boolean;
  /** A rule of the user's own wants a person to be asked, whatever the mode. */
  ruleAsks?: boolean;
  signal: AbortSignal;
};

export type PermissionAnswer =
  | { behavior: "allow"; updatedInput: Record<string, unknown>; updatedPermissions?: PermissionUpdate[] }
  | { behavior: "deny"; message: string; interrupt?: boolean };

/** Options of the SDK's `query` that are plain data, in its own names. */
export type AgentOptions = {
  cwd: string;
  env: Record<string, string>;
  permissionMode: "default" | "acceptEdits" | "plan" | "auto";
  systemPrompt: { type: "preset"; preset: "claude_code" };
  includePartialMessages: true;
  settingSources: string[];
  model?: string;
  pathToClaudeCodeExecutable?: string;
  sessionId?: string;
  resume?: string;
  forkSession?: true;
  resumeSessionAt?: string;
  mcpServers?: Record<string, { type: "http"; url: string; headers: Record<string, string>; alwaysLoad: true }>;
  mcpServersDelivery?: "initialize";
  settings?: { permissions: { allow: string[] } };
};
