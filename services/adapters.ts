import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type EnvironmentConfig, ProviderConfig } from "../schemas/config.ts";
import { createClaudeAdapter } from "./providers/claude/adapter.ts";
import { createCodexAdapter } from "./providers/codex/adapter.ts";
import type { ProviderAdapter } from "./providers/contract.ts";
import { createScriptedAdapter } from "./providers/scripted/adapter.ts";

/** Adapters of the instances that the configuration names, each with a folder of its own; none for those that are given. */
export function configuredAdapters(
  config: EnvironmentConfig,
  dir: string,
  given: Readonly<Record<string, ProviderAdapter>> = {},
): [instance: string, adapter: ProviderAdapter][] {
  return Object.entries(config.providers).flatMap(([instance, raw]): [string, ProviderAdapter][] => {
    if (given[instance] !== undefined) return [];
    const provider = ProviderConfig.parse(raw);
    const stateDir = join(dir, "providers", instance);
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    return [[instance, adapterOf(instance, provider, stateDir, dir)]];
  });
}

function adapterOf(instance: string, config: ProviderConfig, stateDir: string, baseDir: string): ProviderAdapter {
  switch (config.kind) {
    case "scripted":
      return createScriptedAdapter({ instance, config, stateDir, baseDir });
    case "codex":
      return createCodexAdapter({ instance, config, stateDir });
    case "claude":
      return createClaudeAdapter({ instance, config, stateDir });
  }
}
