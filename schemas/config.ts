import { z } from "zod";
import { HandoffBudget } from "./handoff.ts";
import { EnvironmentId } from "./ids.ts";
import { LinkBroker, LinkConfig } from "./link.ts";
import { Modes } from "./modes.ts";
import { ProviderInstanceId } from "./provider.ts";
import { RetentionConfig } from "./retention.ts";
import { Title } from "./text.ts";

const common = {
  /** Size of a handoff that this instance is given; without: half of its context window, else 24,000 tokens. */
  handoffBudget: HandoffBudget.optional(),
  /** A run without any frame for this long is closed (decision 32). Milliseconds; default 30 minutes. */
  leaseMs: z.number().int().positive().optional(),
  defaultModel: z.string().min(1).optional(),
};

/** One configured instance of a provider. */
export const ProviderConfig = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("scripted"), script: z.string().min(1).optional(), ...common }),
  z.strictObject({
    kind: z.literal("codex"),
    /** The native binary; without: `ROPEWALK_CODEX_BIN`, the platform package, the PATH (decision 43). */
    bin: z.string().min(1).optional(),
    /** `CODEX_HOME`; without: the user's own. */
    home: z.string().min(1).optional(),
    /** The whole environment of the process; without: the caller's. */
    env: z.record(z.string(), z.string()).optional(),
    extraArgs: z.array(z.string()).optional(),
    ...common,
  }),
  z.strictObject({
    kind: z.literal("claude"),
    /** A folder whose `node_modules` holds `@anthropic-ai/claude-agent-sdk`; without: where ropewalk itself is installed, then globally. */
    sdk: z.string().min(1).optional(),
    /** The native binary; without: `ROPEWALK_CLAUDE_BIN`, else the one that the SDK brings. */
    bin: z.string().min(1).optional(),
    /** `CLAUDE_CONFIG_DIR`; without: the user's own. */
    home: z.string().min(1).optional(),
    /** The whole environment of the process; without: the caller's. */
    env: z.record(z.string(), z.string()).optional(),
    /** Which of Claude Code's settings files count; without: all of them. Without `project`, CLAUDE.md is not read either. */
    settings: z.array(z.enum(["user", "project", "local"])).optional(),
    /** A conversation without a turn keeps its process for this long. Milliseconds; default 5 minutes. */
    idleMs: z.number().int().positive().optional(),
    ...common,
  }),
]);
export type ProviderConfig = z.infer<typeof ProviderConfig>;

/** The listener on the network (decision 0104): the API, the tools (MCP), and how programs are let in. */
export const HttpConfig = z.strictObject({
  /** Default 127.0.0.1. Any other than this machine itself needs `tls`, or a `publicUrl` that says a proxy is in front. */
  host: z.string().min(1).max(255).optional(),
  /** Without: one that is picked once and kept in the environment's folder. 0: another one at each start. */
  port: z.number().int().min(0).max(65_535).optional(),
  /** PEM files; a relative path is below the environment's folder. */
  tls: z.strictObject({ cert: z.string().min(1), key: z.string().min(1) }).optional(),
  /** How it is reached from outside, e.g. `https://box.example.org`, without a path. */
  publicUrl: z.string().min(1).max(2_000).optional(),
  /** Names by which it is called besides, as they stand in the Host header, without a port. */
  allowedHosts: z.array(z.string().min(1).max(255)).max(100).optional(),
});
export type HttpConfig = z.infer<typeof HttpConfig>;

/** `config.json` of an environment's folder (decision 11). */
export const EnvironmentConfig = z.strictObject({
  environment: z.strictObject({ id: EnvironmentId, name: Title.min(1) }),
  providers: z.record(ProviderInstanceId, ProviderConfig),
  defaultProvider: ProviderInstanceId.nullable(),
  /** The broker that links talk over; null: none is needed. */
  nats: LinkBroker.nullable(),
  links: z.array(LinkConfig),
  limits: z
    .strictObject({
      taskDepth: z.number().int().positive(),
      taskOpenChildren: z.number().int().positive(),
      importRequestBytes: z.number().int().positive(),
      linkBacklog: z.number().int().positive(),
    })
    .partial(),
  /** What a thread starts with when nobody says otherwise. */
  defaultModes: Modes.optional(),
  /** Without: on, with what is usual. Null: off. */
  http: HttpConfig.nullable().optional(),
  /** The log of an environment in the background: how large it grows, and how many full ones are kept. Default 8 MiB, 4. */
  logs: z
    .strictObject({ maxBytes: z.number().int().min(4_096).max(1_073_741_824), keep: z.number().int().min(1).max(100) })
    .partial()
    .optional(),
  /** How long what is kept (decision 0119). Without: nothing is ever removed by itself. Read at the start. */
  retention: RetentionConfig.optional(),
});
export type EnvironmentConfig = z.infer<typeof EnvironmentConfig>;
