import type { ActorId, EnvironmentId, ThreadId } from "../../schemas/ids.ts";
import type { PurgePlace, ToldSession } from "../../schemas/purge.ts";
import type { Store } from "../runtime/ports/store.ts";
import { asTask, runFrom, taskFrom, threadFrom, transferFrom } from "../runtime/typed-actors.ts";
import type { StoreFinding } from "./store-text.ts";

/** Findings of the store by table and thread. */
export function placesOf(store: Store, found: readonly StoreFinding[]): PurgePlace[] {
  const places = new Map<string, PurgePlace>();
  for (const { table, of, count } of found) {
    const threadId = threadOf(store, of);
    const key = `${table} ${threadId}`;
    const before = places.get(key);
    places.set(key, { what: table, name: null, threadId, count: count + (before?.count ?? 0) });
  }
  return [...places.values()];
}

export const threadsOf = (places: readonly PurgePlace[]): ThreadId[] => [...new Set(places.flatMap(({ threadId }) => threadId ?? []))];

/** What belongs to an actor belongs to its thread; a transfer to its target. */
function threadOf(store: Store, of: string | null): ThreadId | null {
  if (of === null) return null;
  const noun = of.slice(0, of.indexOf(":"));
  const id = of as ActorId;
  switch (noun) {
    case "thread":
      return id as ThreadId;
    case "run":
      return runFrom(store, id as never)?.threadId ?? null;
    case "transfer":
      return transferFrom(store, id as never)?.targetThreadId ?? null;
    case "task":
      return taskFrom(store, id as never)?.parentThreadId ?? null;
    default:
      return null;
  }
}

/** Who else may have been told what is in these threads. */
export function toldBy(
  store: Store,
  threads: readonly ThreadId[],
  isOursToo: (instance: string) => boolean,
): { sessions: ToldSession[]; environments: EnvironmentId[] } {
  const sessions = threads.flatMap((threadId) =>
    store
      .providerThreadsOf(threadId)
      .filter((native) => !isOursToo(native.instance))
      .map((native) => ({ threadId, instance: native.instance, nativeId: native.nativeRef.id })),
  );
  const environments = threads.flatMap((threadId) => {
    const thread = threadFrom(store, threadId);
    const tasks = store.actorsBy({ kind: "task", owner: threadId }).map(asTask);
    const named = [thread?.linkOrigin?.environmentId, thread?.lineage.parentEnvironmentId, ...tasks.map((t) => t.childEnvironmentId)];
    return named.flatMap((id) => id ?? []);
  });
  return { sessions, environments: [...new Set(environments)] };
}
