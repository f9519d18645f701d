import type { ThreadId } from "../../schemas/ids.ts";
import type { ThreadToolsPort } from "../runtime/ports/thread-tools.ts";
import type { OpenSession, ProviderAdapter, ProviderSession } from "./contract.ts";

/**
 * An adapter whose sessions are given this environment's tools where its provider can use them. A token is made when a
 * session is opened and taken back as soon as it is let go, or when it was never opened.
 */
export function withThreadTools(adapter: ProviderAdapter, tools: ThreadToolsPort): ProviderAdapter {
  return {
    instance: adapter.instance,
    get capabilities() {
      return adapter.capabilities;
    },
    lookup: (query) => adapter.lookup(query),
    close: () => adapter.close(),
    async open(request, signal) {
      if (adapter.capabilities.appTools === "none") return adapter.open(request, signal);
      const appTools = tools.issue({ threadId: request.threadId as ThreadId, instance: adapter.instance });
      if (appTools === null) return adapter.open(request, signal);
      const given: OpenSession = { ...request, appTools };
      try {
        return revoking(await adapter.open(given, signal), () => tools.revoke(appTools.token));
      } catch (error) {
        tools.revoke(appTools.token);
        throw error;
      }
    },
  };
}

function revoking(session: ProviderSession, revoke: () => void): ProviderSession {
  return {
    get nativeRef() {
      return session.nativeRef;
    },
    startTurn: (input, sink, signal) => session.startTurn(input, sink, signal),
    interrupt: () => session.interrupt(),
    answer: (requestId, answer) => session.answer(requestId, answer),
    detach() {
      // At once: what is let go of calls nothing more, however long its process takes to end.
      revoke();
      return session.detach();
    },
  };
}
