import type { Command, Receipt } from "../../schemas/command.ts";
import type { ContextHandoff, HandoffBudget } from "../../schemas/handoff.ts";
import type { AttemptId, EffectId, RunId, TransferId } from "../../schemas/ids.ts";
import type { ProviderCapabilities, ProviderChoice } from "../../schemas/provider.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import type { OpenPlan, Run, StartPlan } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { readText } from "../runtime/content.ts";
import type { EffectHandler } from "../runtime/effect-runner.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Identifiers } from "../runtime/ports/identifiers.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { Settings } from "../runtime/settings.ts";
import { runFrom, threadFrom } from "../runtime/typed-actors.ts";
import { buildArtefact, buildingFailed, preparingFailed } from "./artefacts.ts";
import { mayRepeat } from "./coverage.ts";
import type { StartContext, StartOutcome } from "./outcomes.ts";
import { resolveStartContext } from "./start-context.ts";
import type { TokenCounter } from "./tokens.ts";

/** Tokens of a handoff where neither the configuration nor the provider says more. */
const defaultBudgetTokens = 24_000;

export type PrepareOptions = {
  store: Store;
  clock: Clock;
  ids: Identifiers;
  settings: Settings;
  counter: TokenCounter;
  capabilities(instance: string): ProviderCapabilities | null;
  report(command: Command, closes?: readonly EffectId[]): Promise<Receipt>;
};

type Prepared = Extract<Command, { type: "run.prepared" }>;

/** `changed`: what it was decided on was different a moment later, and it is to be decided again. */
type Outcome = { is: "done" } | { is: "changed"; refusal: Refusal } | { is: "failed"; refusal: Refusal; failed: TransferId[] };
const done = { is: "done" } as const;

/** How often a start is decided before the run fails for want of a quiet moment. */
const maxDecisions = 5;

/**
 * Carries out `run.prepare`: asks the start hook, claims, builds what is to be told, and says how the provider is to be
 * started. Repeatable: after a crash it finds what it had claimed and goes on. Whatever goes wrong ends the run, with the
 * reason (case H06).
 */
export function prepareRun(o: PrepareOptions): EffectHandler<"run.prepare"> {
  return {
    async run({ runId, attemptId }, effectId) {
      for (let decisions = 1; ; decisions += 1) {
        const outcome = await prepare(o, runId, attemptId, effectId).catch(failedBy);
        if (outcome.is === "done") return;
        if (outcome.is === "changed" && decisions < maxDecisions) continue;
        const failed = outcome.is === "failed" ? outcome.failed : [];
        const receipt = await o.report({ type: "run.unprepared", runId, attemptId, error: outcome.refusal, failed }, [effectId]);
        if (!receipt.ok) throw new Error(receipt.refusal.message);
        return;
      }
    },
  };
}

const failedBy = (error: unknown): Outcome => ({ is: "failed", refusal: preparingFailed(error), failed: [] });

async function prepare(o: PrepareOptions, runId: RunId, attemptId: AttemptId, effectId: EffectId): Promise<Outcome> {
  const run = runFrom(o.store, runId);
  const thread = run === null ? null : threadFrom(o.store, run.threadId);
  if (run === null || thread === null || run.status !== "preparing" || run.attempt?.id !== attemptId) {
    await o.report({ type: "effects.closed", effectIds: [effectId], state: "done", note: "the run went on without it" });
    return done;
  }
  const provider = run.requested ?? thread.preferred?.provider ?? thread.provider ?? o.settings.defaultProvider();
  if (provider === null) return { is: "failed", refusal: noProvider, failed: [] };
  const start = resolveStartContext(o.store, o.ids, { thread, run, provider, capabilities: o.capabilities(provider.instance) });
  const unsupported = start.outcomes.find((x) => x.outcome === "unsupported");
  if (unsupported !== undefined)
    return { is: "failed", refusal: unsupported.error, failed: unsupported.transferId === null ? [] : [unsupported.transferId] };
  const worked = start.outcomes.filter((x) => x.outcome !== "none" && x.outcome !== "unsupported");
  const claim = worked.map((x) => x.transfer.id);
  const notNeeded = start.outcomes.flatMap((x) => (x.outcome === "none" ? [x.transferId] : []));
  if (claim.length + notNeeded.length > 0 || run.provider?.instance !== provider.instance || run.provider.model !== provider.model) {
    const claimed = await o.report({ type: "run.claim", runId, attemptId, provider, create: start.create, claim, notNeeded });
    if (!claimed.ok) return { is: "changed", refusal: claimed.refusal };
  }

  const resolutions: Prepared["resolutions"] = [];
  const handoffs: ContextHandoff[] = [];
  const handoffIds: StartPlan["handoffIds"] = [];
  const message = messageOf(o.store, run);
  const budget = budgetFor(o, provider);
  for (const outcome of worked) {
    if (outcome.outcome === "native") {
      const resolution = { kind: "native_fork" as const, providerThreadRef: outcome.at.nativeRef };
      resolutions.push({ transferId: outcome.transfer.id, resolution, basePoint: null, sourcePoint: null });
      continue;
    }
    const stored = outcome.reuse ? outcome.transfer.existing?.resolution : null;
    if (stored != null && "contextHandoffId" in stored) {
      handoffIds.push(stored.contextHandoffId);
      continue;
    }
    const told = await tell(o, { thread, run, start, message, budget }, outcome);
    if (!told.ok) return { is: "failed", refusal: told.refusal, failed: [outcome.transfer.id] };
    handoffs.push(told.handoff);
    handoffIds.push(told.handoff.id);
    resolutions.push(told.resolution);
  }
  const plan: StartPlan = {
    provider,
    open: openPlan(start),
    handoffIds,
    tells: start.tells,
    tellsBase: start.tellsBase,
    mayRepeat: mayRepeat(o.store, run),
  };
  const prepared = await o.report({ type: "run.prepared", runId, attemptId, plan, resolutions, handoffs }, [effectId]);
  return prepared.ok ? done : { is: "failed", refusal: prepared.refusal, failed: [] };
}

const noProvider = refusal(
  "provider_unavailable",
  "none_configured",
  "no provider is configured",
  "Configure one in config.json, or name one with the message.",
);

type Telling = { thread: AppThread; run: Run; start: StartContext; message: string; budget: HandoffBudget };
type Told = { ok: true; handoff: ContextHandoff; resolution: Prepared["resolutions"][number] } | { ok: false; refusal: Refusal };

async function tell(o: PrepareOptions, t: Telling, outcome: Extract<StartOutcome, { outcome: "portable" | "delta" }>): Promise<Told> {
  try {
    const artefact = await buildArtefact({ store: o.store, counter: o.counter, ...t }, outcome.transfer);
    if (!artefact.built.ok) return { ok: false, refusal: artefact.built.refusal };
    const { ok: _ok, exact: _exact, ...built } = artefact.built;
    const handoff: ContextHandoff = { ...built, id: o.ids.next("handoff"), transferId: outcome.transfer.id, createdAt: o.clock.now() };
    const resolution = { kind: handoff.kind, contextHandoffId: handoff.id };
    return {
      ok: true,
      handoff,
      resolution: { transferId: outcome.transfer.id, resolution, basePoint: artefact.basePoint, sourcePoint: artefact.sourcePoint },
    };
  } catch (error) {
    return { ok: false, refusal: buildingFailed(error) };
  }
}

function openPlan(start: StartContext): OpenPlan {
  const native = start.outcomes.find((x) => x.outcome === "native");
  if (native !== undefined) return { kind: "fork", transferId: native.transfer.id, ...native.at };
  return start.resume === null ? { kind: "new" } : { kind: "resume", providerThreadId: start.resume.id, nativeRef: start.resume.nativeRef };
}

function messageOf(store: Store, run: Run): string {
  const item = store.item(run.messageItemId);
  return item?.body.kind === "user_message" ? readText(store, item.body.content) : "";
}

function budgetFor(o: PrepareOptions, provider: ProviderChoice): HandoffBudget {
  const configured = o.settings.config.providers[provider.instance]?.handoffBudget;
  if (configured !== undefined) return configured;
  const window = o.capabilities(provider.instance)?.contextWindow ?? null;
  return { unit: "tokens", limit: window === null ? defaultBudgetTokens : Math.floor(window / 2) };
}
