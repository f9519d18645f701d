import type { Caller, Command, PublicCommand, Receipt } from "../../schemas/command.ts";
import type { EnvironmentConfig } from "../../schemas/config.ts";
import type { CommandId, EffectId, ThreadId } from "../../schemas/ids.ts";
import { type Committed, Dispatcher } from "../../services/runtime/dispatcher.ts";
import type { Clock } from "../../services/runtime/ports/clock.ts";
import type { Store, StoreFailure } from "../../services/runtime/ports/store.ts";
import { Settings } from "../../services/runtime/settings.ts";
import { systemClock } from "../../services/runtime/system-clock.ts";
import { ids } from "./commit-batches.ts";

export type DispatcherRig = {
  store: Store;
  dispatcher: Dispatcher;
  settings: Settings;
  /** Every commit since the rig was made. */
  commits: Committed[];
  fatal: StoreFailure[];
  send(command: PublicCommand, id?: CommandId, caller?: Caller): Promise<Receipt>;
  report(command: Command, closes?: readonly EffectId[]): Promise<Receipt>;
  newThread(title?: string): Promise<ThreadId>;
};

/** The real dispatcher over a store, without effects, providers and links. Time does not end its batches unless asked to. */
export function dispatcherRig(
  store: Store,
  options: { clock?: Clock; config?: Partial<EnvironmentConfig>; batch?: { commands: number; ms: number } } = {},
): DispatcherRig {
  const config: EnvironmentConfig = {
    environment: { id: ids.next("env"), name: "rig" },
    providers: { p1: { kind: "scripted" } },
    defaultProvider: "p1",
    nats: null,
    links: [],
    limits: {},
    ...options.config,
  };
  const settings = new Settings(config);
  const commits: Committed[] = [];
  const fatal: StoreFailure[] = [];
  const dispatcher = new Dispatcher({
    store,
    clock: options.clock ?? systemClock,
    ids,
    settings,
    scratch: { projectId: ids.next("project"), path: "/scratch" },
    onCommitted: (committed) => commits.push(committed),
    onFatal: (failure) => fatal.push(failure),
    batch: options.batch ?? { commands: 128, ms: Number.POSITIVE_INFINITY },
  });
  const send = (command: PublicCommand, id: CommandId = ids.next("cmd"), caller: Caller = { kind: "user" }) =>
    dispatcher.dispatch(command, { id, caller });
  return {
    store,
    dispatcher,
    settings,
    commits,
    fatal,
    send,
    report: (command, closes) => dispatcher.report(command, closes),
    async newThread(title = "") {
      const receipt = await send({ type: "thread.create", title });
      if (!receipt.ok) throw new Error(receipt.refusal.message);
      return receipt.result.threadId as ThreadId;
    },
  };
}
