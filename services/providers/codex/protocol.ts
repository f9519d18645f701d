/**
 * What this adapter reads of the app-server's protocol (measured on 0.171.0), and nothing more. Another process wrote these
 * frames: every field that is not needed to go on is optional, and unknown methods, items and fields are passed over.
 */
export type RpcId = number | string;

type NativeThread = { id: string; status?: { type: string } };
/** Answer of `thread/start`, `thread/resume` and `thread/fork`. */
export type OpenedThread = {
  thread: NativeThread;
  model?: string;
  reasoningEffort?: string | null;
  approvalPolicy?: unknown;
  sandbox?: { type?: string };
  /** Absent on a new thread, which is in mode `default`. */
  collaborationMode?: { mode?: string } | null;
};

export type CodexError = { message?: string; codexErrorInfo?: unknown; additionalDetails?: string | null };
export type CodexTurn = { id: string; status: string; items?: CodexItem[]; error?: CodexError | null };
export type TurnsPage = { data: CodexTurn[]; nextCursor?: string | null };
export type ThreadsPage = { data: NativeThread[]; nextCursor?: string | null };
export type BackgroundTerminals = { data: { itemId: string; processId: string }[] };

export type FileChange = { path: string; kind?: { type?: string; move_path?: string | null }; diff?: string };

/** Any item of a turn; which fields there are depends on `type`. */
export type CodexItem = {
  type: string;
  id?: string;
  status?: string;
  clientId?: string | null;
  text?: string;
  summary?: string[];
  content?: unknown[];
  command?: string;
  cwd?: string;
  aggregatedOutput?: string | null;
  exitCode?: number | null;
  changes?: FileChange[];
  server?: string;
  namespace?: string | null;
  name?: string;
  tool?: string;
  arguments?: unknown;
  result?: unknown;
  error?: { message?: string } | null;
  contentItems?: unknown[] | null;
  success?: boolean | null;
  output?: unknown;
  query?: string;
  results?: unknown;
  path?: string;
  revisedPrompt?: string | null;
  savedPath?: string;
  review?: string;
  prompt?: string | null;
  receiverThreadIds?: string[];
  kind?: string;
  agentThreadId?: string;
  agentPath?: string;
};

/** Parameters of every notification and request that belongs to a thread, as far as they are read. */
export type ThreadFrame = {
  threadId?: string;
  turnId?: string | null;
  turn?: CodexTurn;
  item?: CodexItem;
  itemId?: string;
  delta?: string;
  requestId?: RpcId;
  explanation?: string | null;
  plan?: { step?: string; status?: string }[];
  tokenUsage?: { modelContextWindow?: number | null };
};

export type UserQuestion = { id: string; header?: string; question?: string; options?: { label: string; description?: string }[] | null };

/** Parameters of the requests that ask a person something. */
export type AskFrame = ThreadFrame & {
  command?: string | null;
  cwd?: string | null;
  reason?: string | null;
  grantRoot?: string | null;
  permissions?: { network?: unknown; fileSystem?: unknown };
  questions?: UserQuestion[];
  serverName?: string;
  message?: string;
  url?: string;
  title?: string;
  description?: string;
};
