import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import type { ProviderConfig } from "../../../schemas/config.ts";
import type { ProviderCapabilities, ProviderInstanceId } from "../../../schemas/provider.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { systemClock } from "../../runtime/system-clock.ts";
import type { LookupAnswer, LookupQuery, OpenSession, ProviderAdapter, ProviderSession } from "../contract.ts";
import { capabilitiesOf, nativeRef, turnRef } from "./capabilities.ts";
import { turnId } from "./conversation.ts";
import { Conversations, type OpenConversation } from "./conversations.ts";
import { cannotOpen, cannotRewind, failure, scriptedFailure } from "./failure.ts";
import { Inputs } from "./inputs.ts";
import { pause } from "./pause.ts";
import { interrupted } from "./play.ts";
import type { Script } from "./script.ts";
import { ScriptFile } from "./script-file.ts";
import { ScriptedSession, type SessionHost } from "./session.ts";

export type ScriptedAdapterOptions = {
  instance: ProviderInstanceId;
  config: Extract<ProviderConfig, { kind: "scripted" }>;
  /** The instance's own folder; made where it is missing. */
  stateDir: string;
  /** What a relative `config.script` is relative to; without: the working folder of the process. */
  baseDir?: string;
  clock?: Clock;
};

type Trouble = "openHang" | "openFail" | "detachFail";

/**
 * A provider without a model: it answers as its script says (see {@link Script}), records every input that it accepts in
 * `<stateDir>/inputs.jsonl`, and keeps its native conversations in `<stateDir>/conversations/`, so that they outlive the
 * process. It runs in this process and starts none. A script that is missing or invalid fails every open and every turn
 * with a `ProviderFailure` (`provider_unavailable`, reason `script_missing` or `script_invalid`) until it is corrected.
 */
export function createScriptedAdapter(options: ScriptedAdapterOptions): ProviderAdapter {
  return new ScriptedAdapter(options);
}

class ScriptedAdapter implements ProviderAdapter {
  readonly instance: ProviderInstanceId;
  readonly #host: SessionHost;
  readonly #script: ScriptFile;
  readonly #sessions = new Set<ScriptedSession>();
  readonly #closing = new AbortController();
  /** How often each trouble that the script limits has happened in this process. */
  readonly #troubles: Record<Trouble, number> = { openHang: 0, openFail: 0, detachFail: 0 };

  constructor({ instance, config, stateDir, baseDir, clock }: ScriptedAdapterOptions) {
    this.instance = instance;
    mkdirSync(stateDir, { recursive: true });
    this.#script = new ScriptFile(config.script === undefined ? null : resolve(baseDir ?? "", config.script));
    const inputs = new Inputs(stateDir);
    this.#host = {
      conversations: new Conversations(stateDir, inputs),
      inputs,
      clock: clock ?? systemClock,
      used: new Map(),
      script: () => this.#script.current(),
      capabilities: () => this.capabilities,
      detachFails: () => this.#happens("detachFail", this.#script.lastGood().detachFail),
      closed: (session) => this.#sessions.delete(session),
    };
  }

  get capabilities(): ProviderCapabilities {
    return capabilitiesOf(this.#script.lastGood());
  }

  async open(request: OpenSession, signal: AbortSignal): Promise<ProviderSession> {
    const script = this.#script.current();
    try {
      await this.#wait(script, [signal, this.#closing.signal]);
    } catch (cause) {
      if (!signal.aborted && !this.#closing.signal.aborted) throw cause;
      throw failure("open_aborted", "Opening the conversation was given up.", "Send again.", { cause });
    }
    const open = await this.#conversation(request, script);
    const session = new ScriptedSession(this.#host, request, open);
    this.#sessions.add(session);
    if (signal.aborted || this.#closing.signal.aborted) {
      await session.end();
      throw failure("open_aborted", "Opening the conversation was given up.", "Send again.");
    }
    return session;
  }

  async lookup({ attemptId }: LookupQuery): Promise<LookupAnswer> {
    if (this.#script.lastGood().lookup === "unknown") return { outcome: "unknown" };
    const at = (await this.#host.inputs.accepted()).get(attemptId);
    if (at === undefined) return { outcome: "absent" };
    const turn = turnId(at.native, at.turn);
    return {
      outcome: "accepted",
      nativeRef: nativeRef(at.native, this.capabilities.identity.thread),
      turnRef: turnRef(turn, this.capabilities),
      ending: await this.#host.conversations.endingOf(at.native, turn),
    };
  }

  async close(): Promise<void> {
    this.#closing.abort(interrupted);
    await Promise.all([...this.#sessions].map((session) => session.end()));
  }

  /** The troubles and delays that the script has for an open. */
  async #wait(script: Script, signals: AbortSignal[]): Promise<void> {
    for (const signal of signals) signal.throwIfAborted();
    const { openFail } = script;
    if (openFail && this.#happens("openFail", openFail.times ?? true)) throw scriptedFailure(openFail);
    if (this.#happens("openHang", script.openHang)) await pause(this.#host.clock, null, signals);
    if (script.openDelayMs !== undefined) await pause(this.#host.clock, script.openDelayMs, signals);
  }

  #happens(trouble: Trouble, times: boolean | number | undefined): boolean {
    if (times === undefined || times === false) return false;
    if (typeof times === "number" && this.#troubles[trouble] >= times) return false;
    this.#troubles[trouble] += 1;
    return true;
  }

  #conversation(request: OpenSession, script: Script): Promise<OpenConversation> {
    const { conversations, clock } = this.#host;
    if (request.kind === "new") return conversations.create(request.threadId, clock.now());
    if (request.kind === "resume") return this.#resume(request, script);
    const { nativeFork } = this.capabilities;
    if (nativeFork === "none" || script.capabilities?.refuseFork) {
      throw cannotOpen("native_fork_refused", "The provider refuses to fork this conversation.", "Start from a handoff instead.");
    }
    const source = { native: request.nativeRef.id, turn: request.turnRef.id };
    return conversations.fork(source, request.threadId, clock.now(), nativeFork === "head");
  }

  async #resume({ nativeRef, rewind }: Extract<OpenSession, { kind: "resume" }>, script: Script): Promise<OpenConversation> {
    const { conversations } = this.#host;
    const open = await conversations.resume(nativeRef.id, this.capabilities.writerLock);
    if (rewind === undefined) return open;
    try {
      if (this.capabilities.rewind !== "inPlace" || script.capabilities?.refuseRewind)
        throw cannotRewind("The provider refuses to take this conversation back.");
      await conversations.rewind(open, rewind);
      return open;
    } catch (cause) {
      conversations.release(open);
      throw cause;
    }
  }
}
