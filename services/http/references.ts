import type { ThreadId } from "../../schemas/ids.ts";
import type { ContextTransfer } from "../../schemas/transfer.ts";
import type { Environment } from "../runtime/environment-api.ts";

export const nouns = ["thread", "run", "task", "transfer", "handoff", "checkpoint", "link", "project"] as const;
export type Noun = (typeof nouns)[number];
export const isNoun = (text: string): text is Noun => (nouns as readonly string[]).includes(text);

/** How many threads are searched for a run or a checkpoint when nobody says which thread it is in. */
const threadsSearched = 500;
const listed = 100_000;
/** More candidates than a person reads need not be looked for. */
const maxCandidates = 12;

/**
 * Ids that a short reference may mean, in listing order, no more than twelve: the id itself, any prefix of its uuid part
 * (with or without dashes), or `@last` for the newest. `within` narrows runs and checkpoints to a thread, tasks and
 * transfers to those that belong to it; a run and a checkpoint of a thread can also be named by its ordinal.
 */
export function resolveReference(environment: Environment, noun: Noun, ref: string, within?: string): string[] {
  const candidates = idsOf(environment, noun, within as ThreadId | undefined);
  if (ref === "@last") return candidates.slice(0, 1);
  if (within !== undefined && /^\d{1,7}$/.test(ref)) {
    const named = byOrdinal(environment, noun, within as ThreadId, Number(ref));
    if (named.length > 0) return named;
  }
  if (candidates.includes(ref)) return [ref];
  const prefix = bare(ref, noun);
  if (prefix === "") return [];
  return candidates.filter((id) => bare(id, noun).startsWith(prefix)).slice(0, maxCandidates);
}

/** What is compared: without noun, `import:` and dashes. */
function bare(id: string, noun: Noun): string {
  const own = id.startsWith(`${noun}:`) ? id.slice(noun.length + 1) : id;
  return own
    .replace(/^import:/, "")
    .replaceAll("-", "")
    .toLowerCase();
}

/** Newest first. */
function idsOf(environment: Environment, noun: Noun, within: ThreadId | undefined): string[] {
  const { threads, transfers, tasks, links, projects } = environment;
  const searched = () => (within === undefined ? threads.list({ limit: threadsSearched }).map((t) => t.id) : [within]);
  switch (noun) {
    case "thread":
      // An import's id says nothing about when it was made.
      return threads
        .list({ includeDeleted: true, limit: listed })
        .sort((a, b) => b.createdAt - a.createdAt)
        .map((t) => t.id);
    case "run":
      return newestFirst(searched().flatMap((id) => threads.runs(id).map((r) => r.id)));
    case "checkpoint":
      return newestFirst(searched().flatMap((id) => threads.checkpoints(id).map((p) => p.id)));
    case "task":
      return newestFirst(tasks.list({ limit: listed, ...(within !== undefined && { parent: within }) }).map((t) => t.id));
    case "transfer":
      return newestFirst(transfers.list({ limit: listed, ...(within !== undefined && { target: within }) }).map((t) => t.id));
    case "handoff":
      return newestFirst(transfers.list({ limit: listed }).flatMap(handoffIds));
    case "link":
      return links.list().map((l) => l.id);
    case "project":
      return projects.list().map((p) => p.id);
  }
}

/** Ids of one kind sort by time of making (uuid version 7). */
const newestFirst = (ids: string[]) => ids.sort((a, b) => (a < b ? 1 : -1));

function handoffIds({ resolution }: ContextTransfer): string[] {
  return resolution === null || resolution.kind === "native_fork" ? [] : [resolution.contextHandoffId];
}

function byOrdinal(environment: Environment, noun: Noun, within: ThreadId, ordinal: number): string[] {
  if (noun === "run") return environment.threads.runs(within).flatMap((r) => (r.ordinal === ordinal ? [r.id] : []));
  if (noun === "checkpoint") return environment.threads.checkpoints(within).flatMap((p) => (p.ordinal === ordinal ? [p.id] : []));
  return [];
}
