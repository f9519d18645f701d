import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { onTestFinished } from "vitest";
import type { Modes } from "../../schemas/modes.ts";
import { createCodexAdapter } from "../../services/providers/codex/adapter.ts";
import type { OpenSession, ProviderAdapter, ProviderSession } from "../../services/providers/contract.ts";
import { ModelEndpoint, type ModelRule, when } from "./model-endpoint.ts";
import { RealCodex } from "./real-codex.ts";

export const never = new AbortController().signal;
export const fullAccess: Modes = { runtimeMode: "full-access", interactionMode: "default" };
export const asking: Modes = { runtimeMode: "approval-required", interactionMode: "default" };
/** A model that takes the request and never answers. */
export const silence: ModelRule = when("SILENT", { kind: "silence" });

/** A model that answers by `rules`, and a Codex that talks to it. */
export async function codexWorld(...rules: ModelRule[]) {
  const endpoint = await ModelEndpoint.start(...rules);
  onTestFinished(() => endpoint[Symbol.asyncDispose]());
  const codex = await RealCodex.create(endpoint);
  onTestFinished(() => codex[Symbol.dispose]());
  const adapter = (): ProviderAdapter => {
    const made = createCodexAdapter({ instance: "codex", config: codex.config, stateDir: codex.stateDir });
    onTestFinished(() => made.close());
    return made;
  };
  const request = (modes: Modes = fullAccess) => ({ cwd: codex.workspace, model: null, modes, threadId: "thread:test" });
  const start = (on: ProviderAdapter, modes?: Modes) => on.open({ ...request(modes), kind: "new" }, never);
  const resume = (on: ProviderAdapter, { nativeRef }: Pick<ProviderSession, "nativeRef">, modes?: Modes) =>
    on.open({ ...request(modes), kind: "resume", nativeRef }, never);
  const fork = (on: ProviderAdapter, { nativeRef }: ProviderSession, turnRef: Extract<OpenSession, { kind: "fork" }>["turnRef"]) =>
    on.open({ ...request(), kind: "fork", nativeRef, turnRef }, never);
  return { endpoint, codex, adapter, start, resume, fork, request };
}

/** The app-servers that run with this Codex's home, by their environment. */
export function processesOf(codex: RealCodex): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/environ`, "utf8").includes(`CODEX_HOME=${codex.home}`) &&
          readlinkSync(`/proc/${pid}/exe`).endsWith("codex")
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

export const transcript = (endpoint: ModelEndpoint) =>
  endpoint.requests.at(-1)!.transcript.filter((line) => /^(user|assistant): (?!<)/.test(line));

/** Shell commands that still run in this Codex's workspace. */
export function runningIn(codex: RealCodex): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(codex.workspace) ? [readFileSync(`/proc/${pid}/cmdline`, "utf8")] : [];
      } catch {
        return [];
      }
    });
}
