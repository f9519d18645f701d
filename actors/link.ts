import { assign, setup } from "xstate";
import type { Emission } from "../schemas/emission.ts";
import type { LinkCreated, LinkEvent } from "../schemas/events/link.ts";
import type { LinkContext } from "../schemas/link.ts";

const atAnyTime = {
  "link.renamed": { actions: "rename" },
  "link.revoked": { target: "revoked", actions: "end" },
  "link.forgotten": { target: "revoked", actions: "end" },
} as const;

/** How a link to a peer stands, as a person sees it. It decides nothing about the work that travels on it. */
export const linkMachine = setup({
  types: {
    context: {} as LinkContext,
    events: {} as LinkEvent,
    input: {} as LinkCreated,
    emitted: {} as Emission,
  },
  actions: {
    note: assign(({ event }) => ({ since: event.at, error: null })),
    seen: assign(({ event }) => ({ since: event.at, lastSeenAt: event.at, error: null })),
    lose: assign(({ event }) => (event.type === "link.lost" ? { since: event.at, error: event.error } : {})),
    diverge: assign(({ event }) =>
      event.type === "link.diverged"
        ? { since: event.at, error: event.reason, divergence: { reason: event.reason, ours: event.ours, theirs: event.theirs } }
        : {},
    ),
    rename: assign(({ event }) => (event.type === "link.renamed" ? { name: event.name } : {})),
    end: assign(({ event }) => {
      if (event.type !== "link.revoked" && event.type !== "link.forgotten") return {};
      const how = event.type === "link.revoked" ? ("revoked" as const) : ("forgotten" as const);
      const { reason = "revoked", dropped = { requests: 0, answers: 0, notices: 0 } } = event;
      return { since: event.at, error: null, ended: { how, reason, at: event.at, dropped } };
    }),
    rejoin: assign(({ event }) => ({ since: event.at, error: null, divergence: null })),
  },
}).createMachine({
  id: "link",
  version: "1",
  context: ({ input }) => ({
    ...input.input,
    since: input.at,
    lastSeenAt: null,
    error: null,
    divergence: null,
    createdAt: input.at,
  }),
  initial: "offline",
  states: {
    offline: {
      on: {
        "link.connecting": { target: "connecting", actions: "note" },
        "link.connected": { target: "online", actions: "seen" },
        "link.lost": {},
        "link.diverged": { target: "diverged", actions: "diverge" },
        ...atAnyTime,
      },
    },
    connecting: {
      on: {
        "link.connecting": {},
        "link.connected": { target: "online", actions: "seen" },
        "link.lost": { target: "offline", actions: "lose" },
        "link.diverged": { target: "diverged", actions: "diverge" },
        ...atAnyTime,
      },
    },
    online: {
      on: {
        "link.connecting": { target: "connecting", actions: "note" },
        "link.connected": {},
        "link.lost": { target: "offline", actions: "lose" },
        "link.diverged": { target: "diverged", actions: "diverge" },
        ...atAnyTime,
      },
    },
    diverged: {
      on: {
        "link.connecting": {},
        "link.connected": {},
        "link.lost": {},
        "link.diverged": {},
        "link.rejoined": { target: "offline", actions: "rejoin" },
        ...atAnyTime,
      },
    },
    /** Nothing brings it back: another link has another id. It may still be forgotten, with what waits for it. */
    revoked: {
      on: {
        "link.renamed": { actions: "rename" },
        "link.forgotten": { actions: "end" },
      },
    },
  },
});
