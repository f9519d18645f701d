import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProviderConfig } from "../../schemas/config.ts";
import { findCodexBinary } from "../../services/providers/codex/binary.ts";
import type { ModelEndpoint } from "./model-endpoint.ts";
import { realPackage } from "./real-packages.ts";

/** The only key that a real Codex is ever given in a test. */
const dummyKey = "dummy-key-of-a-test";

/** A real Codex of its own: own CODEX_HOME, HOME and workspace in a temporary folder, a model on loopback, a made-up key. */
export class RealCodex implements Disposable {
  readonly folder: string;
  readonly workspace: string;
  readonly home: string;
  readonly config: Extract<ProviderConfig, { kind: "codex" }>;

  private constructor(bin: string, endpoint: Pick<ModelEndpoint, "baseUrl">) {
    this.folder = mkdtempSync(join(tmpdir(), "ropewalk-codex-"));
    this.workspace = join(this.folder, "workspace");
    this.home = join(this.folder, "codex");
    for (const folder of [this.workspace, this.home]) mkdirSync(folder);
    writeFileSync(join(this.home, "config.toml"), codexConfig(endpoint.baseUrl));
    // The whole environment: nothing of the caller's reaches the agent.
    const env = { PATH: "/usr/bin:/bin", HOME: this.folder, TMPDIR: this.folder, FAKE_KEY: dummyKey };
    this.config = { kind: "codex", bin, home: this.home, env };
  }

  static async create(endpoint: Pick<ModelEndpoint, "baseUrl">): Promise<RealCodex> {
    const { path } = findCodexBinary({ env: {}, roots: [await realPackage("codex")] });
    return new RealCodex(path, endpoint);
  }

  /** A folder for an adapter's own state. */
  get stateDir(): string {
    return join(this.folder, "state");
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** `config.toml` for the model endpoint of a test. */
export function codexConfig(baseUrl: string): string {
  return `model = "fake-model"
model_provider = "fake"

[model_providers.fake]
name = "Fake"
base_url = "${baseUrl}"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
`;
}
