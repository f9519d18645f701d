import type { Command } from "../schemas/command.ts";
import type { EnvironmentConfig } from "../schemas/config.ts";
import type { EffectId, LinkId, RunId } from "../schemas/ids.ts";
import { refusal } from "../schemas/refusal.ts";
import { configuredAdapters } from "./adapters.ts";
import { backupsOf } from "./backing-up.ts";
import { mayRepeatNote } from "./context/headers.ts";
import { prepareRun } from "./context/prepare-run.ts";
import { createTokenCounter, type TokenCounter } from "./context/tokens.ts";
import { Desk } from "./link-desk.ts";
import { loadOrCreateKeys } from "./links/keys.ts";
import { ThreadTokens } from "./mcp/thread-tokens.ts";
import { settleFolder } from "./own-folder.ts";
import type { ProviderAdapter } from "./providers/contract.ts";
import { ProviderHost } from "./providers/host.ts";
import { withThreadTools } from "./providers/thread-tools.ts";
import { purging } from "./purging.ts";
import { exportThread } from "./runtime/bundles/export.ts";
import { loadOrCreateConfig } from "./runtime/config-file.ts";
import { Dispatcher } from "./runtime/dispatcher.ts";
import { Door } from "./runtime/door.ts";
import { EffectRunner } from "./runtime/effect-runner.ts";
import { CommandRefused, type Environment } from "./runtime/environment-api.ts";
import { HotActors } from "./runtime/hot-actors.ts";
import { hotStore } from "./runtime/hot-store.ts";
import { RuntimeLinkLedger } from "./runtime/ledger.ts";
import { moveProceeding, moveSettling } from "./runtime/move-proceed.ts";
import type { Clock } from "./runtime/ports/clock.ts";
import type { Identifiers } from "./runtime/ports/identifiers.ts";
import type { LinkTransport } from "./runtime/ports/link-transport.ts";
import { type CommitBatch, StoreFailure } from "./runtime/ports/store.ts";
import { durableActorRef } from "./runtime/reads/actor-ref.ts";
import { Commits } from "./runtime/reads/commits.ts";
import { healthReads } from "./runtime/reads/health.ts";
import { linkReads } from "./runtime/reads/links.ts";
import { moveReads } from "./runtime/reads/moves.ts";
import { needReads } from "./runtime/reads/needs.ts";
import { syncReads } from "./runtime/reads/sync.ts";
import { threadReads } from "./runtime/reads/threads.ts";
import { runReads, taskReads, transferReads } from "./runtime/reads/work.ts";
import { recover } from "./runtime/recovery.ts";
import { Retention } from "./runtime/retention.ts";
import { Settings } from "./runtime/settings.ts";
import { systemClock } from "./runtime/system-clock.ts";
import { systemIdentifiers } from "./runtime/system-identifiers.ts";
import type { FileSystemType } from "./store/folder.ts";
import { openStore, type SqliteStore } from "./store/sqlite-store.ts";
import { workspaceEffects } from "./workspace/effects.ts";
import { gitFacts } from "./workspace/git-facts.ts";
import { movingCode } from "./workspace/moving-code.ts";
import { workspaceSetting } from "./workspace/setting.ts";
import { sweepFolder, sweepRefs } from "./workspace/sweep.ts";
import { gitWorkspaces } from "./workspace/workspaces.ts";

/** Where an environment writes what happens; a pino logger fits. */
export interface EnvironmentLog {
  debug(facts: object, text: string): void;
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
}

export type EnvironmentOptions = {
  /** Its folder; made, with a configuration, when it is not there. */
  dir: string;
  /** Members that replace those of `config.json` for this process. */
  config?: Partial<EnvironmentConfig>;
  /** Adapters beside (or instead of) those that the configuration makes, by instance. */
  adapters?: Readonly<Record<string, ProviderAdapter>>;
  /** Another fabric than the configured NATS server. */
  linkTransport?: LinkTransport;
  /** Counts a handoff's tokens, where its budget is in tokens; without: o200k, in a worker. */
  counter?: TokenCounter;
  clock?: Clock;
  ids?: Identifiers;
  log?: EnvironmentLog;
  fileSystemType?: FileSystemType;
  /** Named boundaries, for tests that end the process there. */
  onBoundary?: (name: string) => void;
  /** The disk did not confirm a write. Default: the process exits with 1, and recovers at its next start. */
  onFatal?: (failure: StoreFailure) => void;
  interruptMs?: number;
};

const quiet: EnvironmentLog = { debug() {}, info() {}, warn() {} };

/**
 * Starts an environment on a folder: opens the store, settles what an earlier process left behind, connects providers and
 * links. Throws CommandRefused for a configuration or a store that cannot be used (`store_locked`, `store_newer`, …).
 */
export async function createEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const clock = options.clock ?? systemClock;
  const ids = options.ids ?? systemIdentifiers;
  const log = options.log ?? quiet;
  const store = openOrRefuse(options);
  try {
    return await compose(options, store, clock, ids, log);
  } catch (error) {
    store.close();
    throw error;
  }
}

function openOrRefuse(options: EnvironmentOptions): SqliteStore {
  try {
    return openStore(options.dir, options.fileSystemType === undefined ? {} : { fileSystemType: options.fileSystemType });
  } catch (error) {
    if (error instanceof StoreFailure) throw new CommandRefused(refusal("orchestration_error", error.reason, error.message, error.hint));
    throw error;
  }
}

async function compose(
  options: EnvironmentOptions,
  store: SqliteStore,
  clock: Clock,
  ids: Identifiers,
  log: EnvironmentLog,
): Promise<Environment> {
  const dir = store.folder;
  const loaded = loadOrCreateConfig(dir);
  if (!loaded.ok) throw new CommandRefused(loaded.refusal);
  const config = { ...loaded.config, ...options.config };
  const keys = loadOrCreateKeys(dir);
  if (!keys.ok)
    throw new CommandRefused(refusal("orchestration_error", `keys_${keys.failure.reason}`, keys.failure.message, keys.failure.hint));
  const adapters = new Map([...configuredAdapters(config, dir, options.adapters), ...Object.entries(options.adapters ?? {})]);
  const settings = new Settings(config, [...adapters.keys()]);

  const scratch = await settleFolder(dir, settings.environmentId, store, ids, clock);
  const commits = new Commits(store);
  const counter = options.counter ?? createTokenCounter();
  const hot = new HotActors(store);
  const inside = hotStore(store, hot);
  const dispatcher: Dispatcher = new Dispatcher({
    store,
    hot,
    clock,
    ids,
    settings,
    scratch,
    onBoundary: options.onBoundary,
    answerNow: (request, decided) => effects.answerNow(request, decided),
    onFatal: options.onFatal ?? (() => process.exit(1)),
    onCommitted({ commit, batch, outboxLinks }) {
      ledger.wrote(outboxLinks);
      effects.take(batch.effects, startsIn(batch));
      for (const { id, kind, status } of batch.actors) if (kind === "run" && status === "interrupted") placing.ended(id as RunId);
      for (const { id, kind } of batch.actors) if (kind === "link") desk.linkChanged(id as LinkId);
      commits.committed(commit, batch);
    },
  });
  const report = (command: Command, closes: readonly EffectId[] = []) => dispatcher.report(command, closes);
  const setting = workspaceSetting({ dir, environmentId: settings.environmentId, store: inside, clock, onBoundary: options.onBoundary });
  const workspaces = gitWorkspaces(setting);
  const code = movingCode(setting);
  const ledger = new RuntimeLinkLedger(inside, dispatcher, { ...gitFacts, code });
  const placing = workspaceEffects(setting, report);
  const about = { environmentId: settings.environmentId, environmentName: settings.config.environment.name, clock };
  const backups = backupsOf(store, setting, about, config.retention);
  const tokens = new ThreadTokens(settings.environmentId);
  const serving = new Map([...adapters].map(([instance, adapter]) => [instance, withThreadTools(adapter, tokens)]));
  const host = new ProviderHost({
    adapters: serving,
    store: inside,
    clock,
    settings,
    workspaces,
    report,
    mayRepeatNote,
    interruptMs: options.interruptMs,
  });
  const capabilities = (instance: string) => adapters.get(instance)?.capabilities ?? null;
  const preparing = prepareRun({
    store: inside,
    clock,
    ids,
    settings,
    counter,
    capabilities,
    uncommittedAt: workspaces.uncommittedAt,
    report,
  });
  const purges = purging({ store, inside, dispatcher, settings, workspaces, setting, host, report, onBoundary: options.onBoundary });
  const effects = new EffectRunner({
    dispatcher,
    onBoundary: options.onBoundary,
    log: (message, details) => log.warn(details, message),
    handlers: {
      "run.prepare": preparing,
      "workspace.make": placing.make,
      "workspace.remove": placing.remove,
      "workspace.restore": placing.restore,
      "thread.purge": purges.thread,
      "provider.start": host.start,
      "provider.interrupt": host.interrupt,
      "provider.answer": host.answer,
      "move.proceed": moveProceeding({ store: inside, letGo: (threadId) => host.letGo(threadId), report, code }),
      "move.settle": moveSettling(code, report),
      "thread.forward": { run: async ({ threadId }, id) => void (await report({ type: "thread.forward", threadId }, [id])) },
      "thread.wake": { run: async ({ threadId }, id) => void (await report({ type: "thread.wake", threadId }, [id])) },
    },
  });

  const desk: Desk = new Desk({ given: options.linkTransport, dir, ids, settings, keys: keys.keys, ledger, clock, log, report });
  await desk.configure();
  sweepFolder(setting);
  await recover(store, dispatcher, effects);
  const sweeping = new AbortController();
  const swept = sweepRefs(setting, sweeping.signal);
  await desk.start();
  const door = new Door({
    store,
    dispatcher,
    ids,
    facts: { ...gitFacts, unsaved: workspaces.unsaved, code },
    maxBytes: settings.importRequestBytes,
  });

  const retention = new Retention({ settings: config.retention, store, clock, log, door, workspaces }).start();

  return {
    id: settings.environmentId,
    name: settings.config.environment.name,
    dir,
    dispatch: (command, given) => door.dispatch(command, given),
    dispatchText: (json, given) => door.dispatchText(json, given),
    async send(command, given) {
      const receipt = await door.dispatch(command, given);
      if (!receipt.ok) throw new CommandRefused(receipt.refusal);
      return receipt.result as never;
    },
    threads: { ...threadReads(store), bundle: (id) => exportThread(store, about, id) },
    runs: runReads(store, commits, clock),
    transfers: transferReads(store),
    tasks: taskReads(store, commits, clock),
    moves: moveReads(store, commits, clock),
    links: linkReads(store, commits, clock, {
      grants: (id) => settings.link(id)?.grants ?? [],
      fingerprint: (id) => desk.fingerprint(settings.link(id)),
      statistics: (id) => desk.linking.stats(id) as Record<string, unknown> | null,
    }),
    linkDesk: desk,
    threadTools: {
      callerOf: (token) => tokens.verify(token),
      servedAt: (url) => tokens.servedAt(url),
      onRevoked: (listener) => tokens.onRevoked(listener),
    },
    projects: { list: () => store.projects(), get: (id) => store.project(id) },
    providers: {
      list: () =>
        [...adapters].map(([instance, adapter]) => ({
          instance,
          kind: settings.config.providers[instance]?.kind ?? "custom",
          capabilities: adapter.capabilities,
        })),
    },
    needs: needReads(store, clock, (id) => desk.linking.stats(id)?.heldBack ?? null),
    workspaces: { inspect: workspaces.inspect, difference: workspaces.difference, undoPreview: workspaces.undoPreview },
    backups,
    purges: purges.texts,
    publicKey: keys.keys.publicKey,
    idsFrom: (...query) => store.idsFrom(...query),
    actor: (id) => durableActorRef(store, commits, id, (command) => void door.dispatch(command)),
    changes: (after, limit) => commits.changesAfter(after, limit),
    subscribe: (listener) =>
      commits.onCommit((commit) =>
        listener(
          commit,
          commits.changesAfter(commit - 1, 10_000).filter((c) => c.commit === commit),
        ),
      ),
    sync: syncReads(store, commits),
    get lastCommit() {
      return store.lastCommit;
    },
    health: healthReads(store, settings.environmentId, dir, () => retention.view()),
    async close() {
      await retention.stop();
      await desk.stop();
      // What is committed while it ends is for the next start: a message that waits keeps waiting.
      effects.pause();
      purges.stop();
      dispatcher.holdNoMore();
      placing.stop();
      sweeping.abort();
      await Promise.all([swept, backups.ended()]);
      await host.close();
      await effects.stop();
      await dispatcher.close();
      await counter.close();
      store.close();
    },
  };
}

function startsIn(batch: CommitBatch): ReadonlySet<EffectId> {
  return new Set(batch.effectStates.filter((e) => e.state === "started").map((e) => e.id));
}
