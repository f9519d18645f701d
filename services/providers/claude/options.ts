import { randomUUID } from "node:crypto";
import type { ProviderConfig } from "../../../schemas/config.ts";
import type { Modes } from "../../../schemas/modes.ts";
import type { OpenSession } from "../contract.ts";
import { permissionModeOf } from "./modes.ts";
import type { AgentOptions } from "./protocol.ts";

export type ClaudeConfig = Extract<ProviderConfig, { kind: "claude" }>;

/** How a session is opened: the first time, and again after its process was ended. */
export type OpenedHow = {
  kind: OpenSession["kind"];
  sessionId: string;
  cwd: string;
  modes: Modes;
  first: AgentOptions;
  again: AgentOptions;
};

const appToolsServer = "ropewalk";

type Found = { env: Record<string, string>; bin: string | undefined; rewindTo: string | null };

/**
 * The SDK's options for `request`. A new session and a fork get an id from here, so that they are known before they begin;
 * `rewindTo` is the entry that a session is opened at.
 */
export function openedHow(request: OpenSession, config: ClaudeConfig, { env, bin, rewindTo }: Found): OpenedHow {
  const sessionId = request.kind === "resume" ? request.nativeRef.id : randomUUID();
  const model = request.model ?? config.defaultModel;
  const common: AgentOptions = {
    cwd: request.cwd,
    env,
    permissionMode: permissionModeOf(request.modes),
    systemPrompt: { type: "preset", preset: "claude_code" },
    includePartialMessages: true,
    settingSources: config.settings ?? ["user", "project", "local"],
    ...(model !== undefined && { model }),
    ...(bin !== undefined && { pathToClaudeCodeExecutable: bin }),
    ...(request.appTools !== undefined && withAppTools(request.appTools)),
  };
  const again = { ...common, resume: sessionId };
  return {
    kind: request.kind,
    sessionId,
    cwd: request.cwd,
    modes: request.modes,
    first: firstTime(request, common, sessionId, rewindTo),
    again,
  };
}

function firstTime(request: OpenSession, common: AgentOptions, sessionId: string, rewindTo: string | null): AgentOptions {
  switch (request.kind) {
    case "new":
      return { ...common, sessionId };
    case "resume":
      return { ...common, resume: sessionId, ...(rewindTo !== null && { resumeSessionAt: rewindTo }) };
    case "fork":
      return { ...common, sessionId, resume: request.nativeRef.id, forkSession: true, resumeSessionAt: request.turnRef.id };
  }
}

/** Their own rules say what they allow, so nobody is asked for each call. The token is not on the command line. */
function withAppTools({ url, token }: NonNullable<OpenSession["appTools"]>): Partial<AgentOptions> {
  return {
    mcpServers: { [appToolsServer]: { type: "http", url, headers: { authorization: `Bearer ${token}` }, alwaysLoad: true } },
    mcpServersDelivery: "initialize",
    settings: { permissions: { allow: [`mcp__${appToolsServer}`] } },
  };
}

/** What a Claude Code tells the programs that it starts: not for another one. */
const ofAnotherSession =
  /^(CLAUDECODE|CLAUDE_PID|CLAUDE_EFFORT|AI_AGENT|CLAUDE_CODE_(SESSION_ID|SESSION_ATTENDED|CHILD_\w+|MESSAGING_SOCKET|ENTRYPOINT|EXECPATH)|ROPEWALK_AGENT)$/;

/** The whole environment of the process: as configured, else the caller's. */
export function environmentOf({ env, home }: ClaudeConfig): Record<string, string> {
  return {
    ...(env ?? ownEnvironment()),
    ...(home !== undefined && { CLAUDE_CONFIG_DIR: home }),
    // A run ends with its turn: nothing goes on behind it that nobody sees.
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
  };
}

function ownEnvironment(): Record<string, string> {
  const defined = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(defined.filter(([name]) => !ofAnotherSession.test(name)));
}
