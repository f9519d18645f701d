import type { HotActors } from "./hot-actors.ts";
import type { Store } from "./ports/store.ts";

/**
 * The store as the services inside see it: actors come from the hot ones, everything else from the store itself. For
 * readers that change nothing of what they are given.
 */
export function hotStore(store: Store, hot: HotActors): Store {
  const ours: Pick<Store, "actor" | "actorsBy"> = { actor: (id) => hot.actor(id), actorsBy: (query) => hot.actorsBy(query) };
  return new Proxy(store, {
    get(target, name) {
      if (name === "actor" || name === "actorsBy") return ours[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
