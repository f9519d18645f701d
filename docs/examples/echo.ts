import type { ProviderAdapter } from "../../index.ts";

/** The smallest adapter: it answers with what it was told, and cannot fork, so a fork's history is retold to it. */
export function echo(): ProviderAdapter {
  let conversations = 0;
  return {
    instance: "echo",
    capabilities: {
      nativeFork: "none",
      rewind: "none",
      contextInjection: "text",
      writerLock: false,
      processModel: "shared",
      appTools: "none",
      steering: false,
      interrupt: false,
      approvals: false,
      subagents: false,
      identity: { thread: "strong", turn: "none", item: "none" },
      contextWindow: null,
    },
    async open(request) {
      const id = request.kind === "resume" ? request.nativeRef.id : `echo-${++conversations}`;
      return {
        nativeRef: { id, strength: "strong" },
        async startTurn({ context, message }, sink) {
          const text = [...context, message].join("\n\n");
          sink({ type: "item", body: { kind: "assistant_message", content: { text: `I was told:\n${text}` } }, nativeId: null });
          sink({ type: "ended", ending: "completed", error: null, turnRef: null });
          return { turnRef: null };
        },
        async interrupt() {},
        async answer() {},
        async detach() {},
      };
    },
    async lookup() {
      return { outcome: "unknown" };
    },
    async close() {},
  };
}
