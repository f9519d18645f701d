import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProviderConfig } from "../../schemas/config.ts";
import type { MessagesEndpoint } from "./messages-endpoint.ts";
import { realPackage } from "./real-packages.ts";

/** The only key that a real Claude is ever given in a test. */
export const dummyClaudeKey = "dummy-key-of-a-claude-test";

/** A real Claude Code of its own: own HOME, configuration and workspace in a temporary folder, a model on loopback, a made-up key. */
export class RealClaude implements Disposable {
  readonly folder: string;
  readonly workspace: string;
  readonly home: string;
  readonly config: Extract<ProviderConfig, { kind: "claude" }>;

  private constructor(sdk: string, endpoint: Pick<MessagesEndpoint, "baseUrl">) {
    this.folder = mkdtempSync(join(tmpdir(), "ropewalk-claude-"));
    this.workspace = join(this.folder, "workspace");
    this.home = join(this.folder, "claude");
    for (const folder of [this.workspace, this.home, join(this.folder, "tmp")]) mkdirSync(folder);
    // The whole environment: nothing of the caller's reaches the agent.
    const env = {
      PATH: "/usr/bin:/bin",
      HOME: this.folder,
      TMPDIR: join(this.folder, "tmp"),
      ANTHROPIC_API_KEY: dummyClaudeKey,
      ANTHROPIC_BASE_URL: endpoint.baseUrl,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "1",
    };
    this.config = { kind: "claude", sdk, home: this.home, env };
  }

  static async create(endpoint: Pick<MessagesEndpoint, "baseUrl">): Promise<RealClaude> {
    return new RealClaude(await realPackage("claude"), endpoint);
  }

  /** A folder for an adapter's own state. */
  get stateDir(): string {
    return join(this.folder, "state");
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
