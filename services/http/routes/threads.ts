import { CheckpointId, ItemId, RunId, ThreadId } from "../../../schemas/ids.ts";
import { bundleText } from "../../runtime/bundles/text.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import {
  CheckpointsAnswer,
  ItemsAnswer,
  ProviderThreadsAnswer,
  RunsAnswer,
  SnapshotAnswer,
  ThreadAnswer,
  ThreadsAnswer,
} from "../answers.ts";
import { flag, found } from "../input.ts";
import { listing, pageOf, placeOf, usualPage } from "../page.ts";
import { bytesResponse } from "../ranges.ts";
import { type Route, route } from "../route.ts";
import { ThreadPages } from "../thread-pages.ts";

const id = { id: ThreadId };

export function threadRoutes(environment: Environment): Route[] {
  const { threads } = environment;
  const need = (id: ThreadId) => found(threads.get(id), "thread", id);
  const pages = new ThreadPages(environment);
  return [
    route({
      method: "GET",
      path: "/threads",
      name: "listThreads",
      about: "threads",
      summary: "Threads, newest first.",
      access: "reads",
      query: { parent: ThreadId.optional(), includeDeleted: flag.optional(), ...listing, cursor: ThreadId.optional() },
      answer: { kind: "json", schema: ThreadsAnswer },
      handle({ query: { parent, includeDeleted = false, limit = usualPage, cursor } }) {
        const filter = { includeDeleted, ...(parent !== undefined && { parent }) };
        const begin = placeOf(cursor, (id) => threads.get(id as ThreadId));
        const { records, next } = pageOf(limit, begin, (after, most) =>
          threads.list({ ...filter, limit: most, ...(after !== undefined && { after: after.id }) }),
        );
        return { commit: environment.lastCommit, threads: records, next };
      },
    }),
    route({
      method: "GET",
      path: "/threads/:id",
      name: "getThread",
      about: "threads",
      summary: "A thread.",
      access: "reads",
      params: id,
      answer: { kind: "json", schema: ThreadAnswer },
      refuses: ["thread_not_found"],
      handle: ({ params: { id } }) => ({ commit: environment.lastCommit, thread: need(id) }),
    }),
    route({
      method: "GET",
      path: "/threads/:id/items",
      name: "listItems",
      about: "threads",
      summary: "What a thread shows: what it inherits, marked, then its own. Large texts as references.",
      access: "reads",
      params: id,
      query: { newestFirst: flag.optional(), ownOnly: flag.optional(), ...listing, cursor: ItemId.optional() },
      answer: { kind: "json", schema: ItemsAnswer },
      refuses: ["thread_not_found"],
      handle({ params: { id }, query }) {
        need(id);
        const { records, next } = pages.items(id, query);
        return { commit: environment.lastCommit, items: records, next };
      },
    }),
    route({
      method: "GET",
      path: "/threads/:id/runs",
      name: "listRuns",
      about: "threads",
      summary: "A thread's own runs, by ordinal.",
      access: "reads",
      params: id,
      query: { newestFirst: flag.optional(), ...listing, cursor: RunId.optional() },
      answer: { kind: "json", schema: RunsAnswer },
      refuses: ["thread_not_found"],
      handle({ params: { id }, query: { cursor, ...page } }) {
        need(id);
        const begin = placeOf(cursor, (run) => ofThread(environment.runs.get(run as RunId), id));
        const { records, next } = pages.runs(id, page, begin);
        return { commit: environment.lastCommit, runs: records, next };
      },
    }),
    route({
      method: "GET",
      path: "/threads/:id/checkpoints",
      name: "listCheckpoints",
      about: "threads",
      summary: "A thread's own stable points, by ordinal.",
      access: "reads",
      params: id,
      query: { ...listing, cursor: CheckpointId.optional() },
      answer: { kind: "json", schema: CheckpointsAnswer },
      refuses: ["thread_not_found"],
      handle({ params: { id }, query: { limit = usualPage, cursor } }) {
        need(id);
        const begin = placeOf(cursor, (checkpoint) => ofThread(threads.checkpoint(checkpoint as CheckpointId), id));
        const { records, next } = pageOf(limit, begin, (after, most) =>
          threads.checkpoints(id, { limit: most, ...(after !== undefined && { afterOrdinal: after.ordinal }) }),
        );
        return { commit: environment.lastCommit, checkpoints: records, next };
      },
    }),
    route({
      method: "GET",
      path: "/threads/:id/provider-threads",
      name: "listProviderThreads",
      about: "threads",
      summary: "The providers' own conversations that back a thread, and what each knows.",
      access: "reads",
      params: id,
      answer: { kind: "json", schema: ProviderThreadsAnswer },
      refuses: ["thread_not_found"],
      handle({ params: { id } }) {
        need(id);
        return { commit: environment.lastCommit, providerThreads: threads.providerThreads(id) };
      },
    }),
    route({
      method: "GET",
      path: "/threads/:id/bundle",
      name: "exportThread",
      about: "threads",
      summary: "A thread for another environment: a line of JSON for each record, with digests (the guide's page on bundles).",
      access: "reads",
      params: id,
      answer: { kind: "bytes", mediaType: "application/x-ndjson" },
      refuses: ["thread_not_found"],
      handle({ params: { id }, request }) {
        const bundle = found(threads.bundle(id), "thread", id);
        return bytesResponse(request, Buffer.from(bundleText(bundle)), "application/x-ndjson", bundle.end.digest);
      },
    }),
    route({
      method: "GET",
      path: "/threads/:id/snapshot",
      name: "getSnapshot",
      about: "threads",
      summary: "A thread and the first page of all that belongs to it, read at one commit.",
      access: "reads",
      params: id,
      query: { newestFirst: flag.optional(), ownOnly: flag.optional(), ...listing },
      answer: { kind: "json", schema: SnapshotAnswer },
      refuses: ["thread_not_found"],
      handle({ params: { id }, query }) {
        const thread = need(id);
        // All of it is read in one go, so that the feed after `commit` neither misses nor repeats anything.
        const [items, runs, transfers, tasks] = [
          pages.items(id, query),
          pages.runs(id, query),
          pages.transfers(id, query),
          pages.tasks(id, query),
        ];
        return {
          commit: environment.lastCommit,
          thread,
          runs: runs.records,
          items: items.records,
          transfers: transfers.records,
          tasks: tasks.records,
          progress: thread.activeRunId === null ? null : environment.runs.progress(thread.activeRunId),
          next: { runs: runs.next, items: items.next, transfers: transfers.next, tasks: tasks.next },
        };
      },
    }),
  ];
}

const ofThread = <T extends { threadId: ThreadId }>(record: T | null, id: ThreadId): T | null => (record?.threadId === id ? record : null);
