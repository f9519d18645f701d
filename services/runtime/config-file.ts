import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { EnvironmentConfig } from "../../schemas/config.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import { systemIdentifiers } from "./system-identifiers.ts";

export type ConfigResult = { ok: true; config: EnvironmentConfig; created: boolean } | { ok: false; refusal: Refusal };

/** `config.json` of a folder; made with the environment when there is none. Every member is checked, none is guessed. */
export function loadOrCreateConfig(dir: string): ConfigResult {
  const path = join(dir, "config.json");
  if (!existsSync(path)) {
    const config = freshConfig();
    writeConfig(dir, config);
    return { ok: true, config, created: true };
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    return {
      ok: false,
      refusal: refusal(
        "invalid_request",
        "config_unreadable",
        `${path} is not JSON: ${error instanceof Error ? error.message : error}`,
        "Correct it, or move it away to have a fresh one made.",
      ),
    };
  }
  const checked = EnvironmentConfig.safeParse(parsed);
  if (checked.success) return { ok: true, config: checked.data, created: false };
  const issues = checked.error.issues.slice(0, 5).map((i) => `${i.path.join(".") || "(top)"}: ${i.message}`);
  return {
    ok: false,
    refusal: refusal(
      "invalid_request",
      "config_invalid",
      `${path}: ${issues.join("; ")}`,
      "Correct the named members; see the configuration page of the guide.",
    ),
  };
}

/** Written whole or not at all. */
export function writeConfig(dir: string, config: EnvironmentConfig): void {
  const path = join(dir, "config.json");
  const fd = openSync(`${path}.new`, "w", 0o600);
  try {
    writeFileSync(fd, `${JSON.stringify(config, null, 2)}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${path}.new`, path);
}

/** An environment of this machine, with Codex as the agent that most people have, and no links. */
export function freshConfig(): EnvironmentConfig {
  return {
    environment: { id: systemIdentifiers.next("env"), name: hostname() || "environment" },
    providers: { codex: { kind: "codex" } },
    defaultProvider: "codex",
    nats: null,
    links: [],
    limits: {},
  };
}
