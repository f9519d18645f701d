import type { ProviderAdapter, ProviderSession } from "../../services/providers/contract.ts";
import { createScriptedAdapter } from "../../services/providers/scripted/adapter.ts";

/** A scripted provider that is real but for what a test puts over it, and remembers which of its conversations are open. */
export type WrappedAdapter = { adapter: ProviderAdapter; open: Set<ProviderSession> };

export function wrappedAdapter(
  options: Parameters<typeof createScriptedAdapter>[0],
  over: (inner: ProviderAdapter) => Partial<ProviderAdapter>,
): WrappedAdapter {
  const inner = createScriptedAdapter(options);
  const open = new Set<ProviderSession>();
  const counted: ProviderAdapter = {
    instance: inner.instance,
    get capabilities() {
      return inner.capabilities;
    },
    async open(request, signal) {
      const session = await inner.open(request, signal);
      open.add(session);
      const detach = session.detach.bind(session);
      session.detach = async () => {
        await detach();
        open.delete(session);
      };
      return session;
    },
    lookup: (query) => inner.lookup(query),
    close: () => inner.close(),
  };
  const adapter = Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(counted), ...Object.getOwnPropertyDescriptors(over(counted)) },
  );
  return { adapter: adapter as ProviderAdapter, open };
}
