import type { Command } from "../../schemas/command.ts";
import type { ContextHandoff, HandoffBudget } from "../../schemas/handoff.ts";
import type { EffectId, TransferId } from "../../schemas/ids.ts";
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
import { runFrom, runsOf, threadFrom } from "../runtime/typed-actors.ts";
import { buildArtefact, buildingFailed } from "./artefacts.ts";
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
  report(command: Command, closes?: readonly EffectId[]): Promise<unknown>;
};

type Prepared = Extract<Command, { type: "run.prepared" }>;

/**
 * Carries out `run.prepare`: asks the start hook, claims, builds what is to be told, and says how the provider is to be
 * started. Repeatable: after a crash it finds what it had claimed and goes on.
 */
export function prepareRun(o: PrepareOptions): EffectHandler<"run.prepare"> {
  return {
    async run({ runId, attemptId }, effectId) {
      const run = runFrom(o.store, runId);
      const thread = run === null ? null : threadFrom(o.store, run.threadId);
      if (run === null || thread === null || run.status !== "preparing" || run.attempt?.id !== attemptId) {
        await o.report({ type: "effects.closed", effectIds: [effectId], state: "done", note: "the run went on without it" });
        return;
      }
      const fail = (error: Refusal, failed: TransferId[]) =>
        o.report({ type: "run.unprepared", runId, attemptId, error, failed }, [effectId]);
      const provider = run.requested ?? thread.preferred?.provider ?? thread.provider ?? o.settings.defaultProvider();
      if (provider === null) {
        await fail(
          refusal(
            "provider_unavailable",
            "none_configured",
            "no provider is configured",
            "Configure one in config.json, or name one with the message.",
          ),
          [],
        );
        return;
      }
      const start = resolveStartContext(o.store, o.ids, { thread, run, provider, capabilities: o.capabilities(provider.instance) });
      const unsupported = start.outcomes.find((x) => x.outcome === "unsupported");
      if (unsupported !== undefined) {
        await fail(unsupported.error, unsupported.transferId === null ? [] : [unsupported.transferId]);
        return;
      }
      const worked = start.outcomes.filter((x) => x.outcome !== "none" && x.outcome !== "unsupported");
      const claim = worked.map((x) => x.transfer.id);
      const notNeeded = start.outcomes.flatMap((x) => (x.outcome === "none" ? [x.transferId] : []));
      if (claim.length + notNeeded.length > 0 || run.provider?.instance !== provider.instance || run.provider.model !== provider.model)
        await o.report({ type: "run.claim", runId, attemptId, provider, create: start.create, claim, notNeeded });

      const resolutions: Prepared["resolutions"] = [];
      const handoffs: ContextHandoff[] = [];
      const handoffIds: StartPlan["handoffIds"] = [];
      const message = messageOf(o.store, run);
      const budget = budgetFor(o, provider);
      for (const outcome of worked) {
        if (outcome.outcome === "native") {
          resolutions.push({
            transferId: outcome.transfer.id,
            resolution: { kind: "native_fork", providerThreadRef: outcome.at.nativeRef },
            basePoint: null,
            sourcePoint: null,
          });
          continue;
        }
        const stored = outcome.reuse ? outcome.transfer.existing?.resolution : null;
        if (stored != null && "contextHandoffId" in stored) {
          handoffIds.push(stored.contextHandoffId);
          continue;
        }
        const told = await tell(o, { thread, run, start, message, budget }, outcome);
        if (!told.ok) {
          await fail(told.refusal, [outcome.transfer.id]);
          return;
        }
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
        mayRepeat: mayRepeat(o.store, thread, run),
      };
      await o.report({ type: "run.prepared", runId, attemptId, plan, resolutions, handoffs }, [effectId]);
    },
  };
}

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

/** True when nobody knows whether the provider took an earlier input of this thread (contract §7: told at least once). */
function mayRepeat(store: Store, thread: AppThread, run: Run): boolean {
  const [before] = runsOf(store, thread.id, { min: run.ordinal - 1, max: run.ordinal - 1 });
  return before?.error?.reason === "outcome_unknown";
}
