import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { onTestFinished } from "vitest";
import type { Modes } from "../../schemas/modes.ts";
import { createClaudeAdapter } from "../../services/providers/claude/adapter.ts";
import type { OpenSession, ProviderAdapter, ProviderSession } from "../../services/providers/contract.ts";
import { calls, MessagesEndpoint, type MessagesRule, whenAsked } from "./messages-endpoint.ts";
import { RealClaude } from "./real-claude.ts";

export const never = new AbortController().signal;
export const fullAccess: Modes = { runtimeMode: "full-access", interactionMode: "default" };
export const asking: Modes = { runtimeMode: "approval-required", interactionMode: "default" };
/** A model that takes the request and never answers. */
export const silence: MessagesRule = whenAsked("SILENT", { kind: "silence" });

/** What makes Claude run a command in its shell. */
export const bash = (command: string) => calls("Bash", { command, description: "for a test" });

/** A model that answers by `rules`, and a Claude Code that talks to it. */
export async function claudeWorld(...rules: MessagesRule[]) {
  const endpoint = await MessagesEndpoint.start(...rules);
  onTestFinished(() => endpoint[Symbol.asyncDispose]());
  const claude = await RealClaude.create(endpoint);
  onTestFinished(() => claude[Symbol.dispose]());
  let adapters = 0;
  /** Each is an environment of its own, unless it is said to be another life of the first. */
  const adapter = (sameState = false): ProviderAdapter => {
    adapters += 1;
    const stateDir = sameState || adapters === 1 ? claude.stateDir : `${claude.stateDir}-${adapters}`;
    const made = createClaudeAdapter({ instance: "claude", config: claude.config, stateDir });
    onTestFinished(() => made.close());
    return made;
  };
  const request = (modes: Modes = fullAccess) => ({ cwd: claude.workspace, model: null, modes, threadId: "thread:test" });
  const start = (on: ProviderAdapter, modes?: Modes) => on.open({ ...request(modes), kind: "new" }, never);
  const resume = (on: ProviderAdapter, { nativeRef }: Pick<ProviderSession, "nativeRef">, modes?: Modes) =>
    on.open({ ...request(modes), kind: "resume", nativeRef }, never);
  const fork = (on: ProviderAdapter, { nativeRef }: Pick<ProviderSession, "nativeRef">, turnRef: ForkPoint) =>
    on.open({ ...request(), kind: "fork", nativeRef, turnRef }, never);
  return { endpoint, claude, adapter, start, resume, fork, request };
}

type ForkPoint = Extract<OpenSession, { kind: "fork" }>["turnRef"];

/** What the model was told, without what Claude Code adds of its own. */
export const transcript = (endpoint: MessagesEndpoint, at = -1) =>
  endpoint.requests.at(at)!.transcript.filter((line) => /^(user|assistant|tool): /.test(line));

/** Everything that runs for this Claude, by its environment: Claude Code itself, and what it started. */
export function processesOf(claude: RealClaude): number[] {
  return pids((pid) => readFileSync(`/proc/${pid}/environ`, "utf8").includes(`HOME=${claude.folder}\0`));
}

/** The processes of Claude Code alone. */
export function agentsOf(claude: RealClaude): number[] {
  return processesOf(claude).filter(
    (pid) => pids((other) => other === String(pid) && readlinkSync(`/proc/${pid}/exe`).endsWith("claude")).length > 0,
  );
}

function pids(matches: (pid: string) => boolean): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return matches(pid);
      } catch {
        return false;
      }
    })
    .map(Number);
}
