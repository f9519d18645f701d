import type { Command } from "../../schemas/command.ts";
import type { ContextHandoff, HandoffBudget } from "../../schemas/handoff.ts";
import type { AttemptId, TransferId } from "../../schemas/ids.ts";
import type { ProviderCapabilities, ProviderChoice } from "../../schemas/provider.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import type { OpenPlan, Run } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { readText } from "../runtime/content.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Identifiers } from "../runtime/ports/identifiers.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { Settings } from "../runtime/settings.ts";
import type { Artefact } from "./artefacts.ts";
import { mayRepeat } from "./coverage.ts";
import type { NativePoint } from "./native-fork.ts";
import type { StartContext, StartOutcome } from "./outcomes.ts";
import { resolveStartContext } from "./start-context.ts";

/** Tokens of a handoff where neither the configuration nor the provider says more. */
const defaultBudgetTokens = 24_000;

export type DecideOptions = {
  clock: Clock;
  ids: Identifiers;
  settings: Settings;
  capabilities(instance: string): ProviderCapabilities | null;
};

export type Prepared = Extract<Command, { type: "run.prepared" }>;
type Worked = Exclude<StartOutcome, { outcome: "none" | "unsupported" }>;

export type StartDecision = {
  run: Run;
  attemptId: AttemptId;
  thread: AppThread;
  start: StartContext;
  worked: Worked[];
  /** Null when there is nothing to claim that the run does not have already. */
  claim: Command | null;
  message: string;
  budget: HandoffBudget;
};

/** How a run starts, but for the texts that it is told: read from a store, decided without waiting, changing nothing. */
export function decideStart(
  o: DecideOptions,
  store: Store,
  thread: AppThread,
  run: Run,
  attemptId: AttemptId,
): ({ ok: true } & StartDecision) | { ok: false; refusal: Refusal; failed: TransferId[] } {
  const provider = run.requested ?? thread.preferred?.provider ?? thread.provider ?? o.settings.defaultProvider();
  if (provider === null) return { ok: false, refusal: noProvider, failed: [] };
  const start = resolveStartContext(store, o.ids, { thread, run, provider, capabilities: o.capabilities(provider.instance) });
  const unsupported = start.outcomes.find((x) => x.outcome === "unsupported");
  if (unsupported !== undefined)
    return { ok: false, refusal: unsupported.error, failed: unsupported.transferId === null ? [] : [unsupported.transferId] };
  const worked = start.outcomes.filter((x) => x.outcome !== "none" && x.outcome !== "unsupported");
  const claim = worked.map((x) => x.transfer.id);
  const notNeeded = start.outcomes.flatMap((x) => (x.outcome === "none" ? [x.transferId] : []));
  const isNew =
    claim.length + notNeeded.length > 0 || run.provider?.instance !== provider.instance || run.provider.model !== provider.model;
  return {
    ok: true,
    run,
    attemptId,
    thread,
    start,
    worked,
    claim: isNew ? { type: "run.claim", runId: run.id, attemptId, provider, create: start.create, claim, notNeeded } : null,
    message: messageOf(store, run),
    budget: budgetFor(o, provider),
  };
}

/** What a start tells, gathered transfer by transfer. */
export class Telling {
  readonly #o: DecideOptions;
  readonly #decision: StartDecision;
  readonly #resolutions: Prepared["resolutions"] = [];
  readonly #handoffs: ContextHandoff[] = [];
  readonly #handoffIds: Prepared["plan"]["handoffIds"] = [];

  constructor(o: DecideOptions, decision: StartDecision) {
    this.#o = o;
    this.#decision = decision;
  }

  /** Takes what needs no new artefact: a native fork, or what an earlier run had built. Returns false for the others. */
  takes(outcome: Worked): boolean {
    if (outcome.outcome === "native") {
      const resolution = nativeResolution(this.#decision.start, outcome.at);
      this.#resolutions.push({ transferId: outcome.transfer.id, resolution, basePoint: null, sourcePoint: null });
      return true;
    }
    const stored = outcome.reuse ? outcome.transfer.existing?.resolution : null;
    if (stored == null || !("contextHandoffId" in stored)) return false;
    this.#handoffIds.push(stored.contextHandoffId);
    return true;
  }

  add(
    transferId: TransferId,
    { built, basePoint, sourcePoint }: Omit<Artefact, "built"> & { built: Extract<Artefact["built"], { ok: true }> },
  ): void {
    const { ok: _ok, exact: _exact, ...told } = built;
    const handoff: ContextHandoff = { ...told, id: this.#o.ids.next("handoff"), transferId, createdAt: this.#o.clock.now() };
    this.#handoffs.push(handoff);
    this.#handoffIds.push(handoff.id);
    this.#resolutions.push({ transferId, resolution: { kind: handoff.kind, contextHandoffId: handoff.id }, basePoint, sourcePoint });
  }

  prepared(store: Store): Prepared {
    const { run, attemptId, start } = this.#decision;
    return {
      type: "run.prepared",
      runId: run.id,
      attemptId,
      plan: {
        provider: start.provider,
        open: openPlan(start),
        handoffIds: this.#handoffIds,
        tells: start.tells,
        tellsBase: start.tellsBase,
        mayRepeat: mayRepeat(store, run),
      },
      resolutions: this.#resolutions,
      handoffs: this.#handoffs,
    };
  }
}

const noProvider = refusal(
  "provider_unavailable",
  "none_configured",
  "no provider is configured",
  "Configure one in config.json, or name one with the message.",
);

function nativeResolution({ back }: StartContext, at: NativePoint | null): Prepared["resolutions"][number]["resolution"] {
  if (at !== null) return { kind: "native_fork", providerThreadRef: at.nativeRef };
  if (back === null) throw new Error("a conversation was to be taken back, and none was named");
  if (back.by === "fork") return { kind: "native_fork", providerThreadRef: back.at.nativeRef };
  return { kind: "native_fork", providerThreadRef: back.at.native.nativeRef, inPlace: true, lastTurnRef: back.at.keep.turnRef };
}

function openPlan({ outcomes, resume, back }: StartContext): OpenPlan {
  for (const x of outcomes) if (x.outcome === "native" && x.at !== null) return { kind: "fork", transferId: x.transfer.id, ...x.at };
  if (back?.by === "fork") return { kind: "fork", transferId: back.transferId, ...back.at };
  if (resume === null) return { kind: "new" };
  const open = { kind: "resume", providerThreadId: resume.id, nativeRef: resume.nativeRef } as const;
  if (back === null) return open;
  const { native: _, ...rewind } = back.at;
  return { ...open, rewind: { ...rewind, transferId: back.transferId } };
}

function messageOf(store: Store, run: Run): string {
  const item = store.item(run.messageItemId);
  return item?.body.kind === "user_message" ? readText(store, item.body.content) : "";
}

function budgetFor(o: DecideOptions, provider: ProviderChoice): HandoffBudget {
  const configured = o.settings.config.providers[provider.instance]?.handoffBudget;
  if (configured !== undefined) return configured;
  const window = o.capabilities(provider.instance)?.contextWindow ?? null;
  return { unit: "tokens", limit: window === null ? defaultBudgetTokens : Math.floor(window / 2) };
}
