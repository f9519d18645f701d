import { EnvironmentSnapshot, OlderThreads } from "../../../schemas/environment-view.ts";
import { ItemId, ThreadId } from "../../../schemas/ids.ts";
import { EnvironmentLiveLine, ThreadLiveLine } from "../../../schemas/live.ts";
import { OlderTurns, ThreadSnapshot } from "../../../schemas/thread-view.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { count, found, positive } from "../input.ts";
import { type Route, route } from "../route.ts";
import { invalid } from "../statuses.ts";
import { bounds } from "../sync/bounds.ts";
import { EnvironmentChanges } from "../sync/environment-changes.ts";
import { environmentSnapshot, olderThreads } from "../sync/environment-snapshot.ts";
import type { LiveSettings } from "../sync/live.ts";
import { liveResponse, viewResponse } from "../sync/respond.ts";
import { threadSource } from "../sync/thread-live.ts";
import { olderTurns, threadSnapshot } from "../sync/thread-snapshot.ts";

/** What a client sees, and how it stays up to date: views at a commit, and live connections after it (decision 0106). */
export function syncRoutes(environment: Environment, settings: LiveSettings): Route[] {
  return [...environmentRoutes(environment, settings), ...threadRoutes(environment, settings)];
}

const about = "views";
const after = { after: count(Number.MAX_SAFE_INTEGER) };

function environmentRoutes(environment: Environment, settings: LiveSettings): Route[] {
  return [
    route({
      method: "GET",
      path: "/view",
      name: "viewEnvironment",
      about,
      summary: "A list to keep up to date: the newest threads, open tasks and links at one commit. Compressed as the client takes it.",
      access: "reads",
      query: { limit: positive(bounds.mostThreads).optional() },
      answer: { kind: "json", schema: EnvironmentSnapshot },
      handle: async ({ query: { limit = bounds.threads }, request }) =>
        viewResponse(request, await environmentSnapshot(environment, limit)),
    }),
    route({
      method: "GET",
      path: "/view/older",
      name: "viewOlderThreads",
      about,
      summary: "Threads older than those of the list: `before` is its `olderThan`.",
      access: "reads",
      query: { before: ThreadId, limit: positive(bounds.mostThreads).optional() },
      answer: { kind: "json", schema: OlderThreads },
      refuses: ["thread_not_found"],
      async handle({ query: { before, limit = bounds.threads }, request }) {
        found(environment.threads.get(before), "thread", before);
        return viewResponse(request, await olderThreads(environment, limit, before));
      },
    }),
    route({
      method: "GET",
      path: "/live",
      name: "followEnvironment",
      about,
      summary: "Patches of the list after a commit, then as things change. Compressed as the client takes it, each line flushed.",
      access: "reads",
      query: after,
      answer: { kind: "lines", schema: EnvironmentLiveLine },
      handle({ query, request }) {
        const source = new EnvironmentChanges(environment, known(environment, query.after));
        return liveResponse(request, environment, source, settings);
      },
    }),
  ];
}

function threadRoutes(environment: Environment, settings: LiveSettings): Route[] {
  return [
    route({
      method: "GET",
      path: "/threads/:id/view",
      name: "viewThread",
      about,
      summary: "What a person looks at of a thread, at one commit: its newest turns, large texts by their size.",
      access: "reads",
      params: { id: ThreadId },
      query: { limit: positive(bounds.mostItems).optional() },
      answer: { kind: "json", schema: ThreadSnapshot },
      refuses: ["thread_not_found"],
      handle: async ({ params: { id }, query: { limit = bounds.items }, request }) =>
        viewResponse(request, found(await threadSnapshot(environment, id, limit), "thread", id)),
    }),
    route({
      method: "GET",
      path: "/threads/:id/view/older",
      name: "viewOlderTurns",
      about,
      summary: "Turns before those of a view: `before` is its `olderThan`.",
      access: "reads",
      params: { id: ThreadId },
      query: { before: ItemId, limit: positive(bounds.mostItems).optional() },
      answer: { kind: "json", schema: OlderTurns },
      refuses: ["thread_not_found", "not_found"],
      async handle({ params: { id }, query: { before, limit = bounds.items }, request }) {
        found(environment.threads.get(id), "thread", id);
        const item = found(environment.threads.item(before), "item", before);
        return viewResponse(request, found(await olderTurns(environment, id, item, limit), "item", before));
      },
    }),
    route({
      method: "GET",
      path: "/threads/:id/live",
      name: "followThread",
      about,
      summary: "Patches of a thread's view after a commit, then as things change, with the text that is being written.",
      access: "reads",
      params: { id: ThreadId },
      query: after,
      answer: { kind: "lines", schema: ThreadLiveLine },
      refuses: ["thread_not_found"],
      handle({ params: { id }, query, request }) {
        found(environment.threads.get(id), "thread", id);
        return liveResponse(request, environment, threadSource(environment, id, known(environment, query.after)), settings);
      },
    }),
  ];
}

/** A client that was told of later commits than there are has seen another store, or this one before it was restored. */
function known(environment: Environment, commit: number): number {
  if (commit <= environment.lastCommit) return commit;
  throw invalid(
    "ahead_of_store",
    `this environment's last commit is ${environment.lastCommit}, not ${commit}`,
    "Read a snapshot again and follow from its commit: the store is another than the one that was read before.",
    { lastCommit: environment.lastCommit },
  );
}
