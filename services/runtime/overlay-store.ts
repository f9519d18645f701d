import type { Overlay } from "./overlay.ts";
import type { Store } from "./ports/store.ts";

/** What of a store's reading an overlay has above it: the rest is as it was committed. */
const above = new Set([
  "actor",
  "actorsBy",
  "countBy",
  "item",
  "blob",
  "checkpoint",
  "providerThread",
  "providerThreadsOf",
  "project",
  "projects",
]);

/** What a batch has decided so far, as a store to read. Pages of items and journals are of the commits before it. */
export function overlayStore(overlay: Overlay): Store {
  return new Proxy(overlay.store, {
    get(target, name) {
      const source: object = typeof name === "string" && above.has(name) ? overlay : target;
      const value: unknown = Reflect.get(source, name, source);
      return typeof value === "function" ? value.bind(source) : value;
    },
  });
}
