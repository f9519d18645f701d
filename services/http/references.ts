import type { ThreadId } from "../../schemas/ids.ts";
import type { Environment } from "../runtime/environment-api.ts";

export const nouns = ["thread", "run", "task", "transfer", "handoff", "checkpoint", "link", "move", "project"] as const;
export type Noun = (typeof nouns)[number];

/** More candidates than a person reads need not be looked for. */
const maxCandidates = 12;

/**
 * Ids that a short reference may mean, the newest first, no more than twelve: the id itself, any beginning of its last
 * part (with or without dashes), or `@last` for the newest. `within` narrows runs and checkpoints to a thread, tasks and
 * transfers to those that belong to it; a run and a checkpoint of a thread can also be named by its ordinal.
 */
export function resolveReference(environment: Environment, noun: Noun, ref: string, within?: ThreadId): string[] {
  if (ref === "@last") return newest(environment, noun, within);
  if (within !== undefined && /^\d{1,7}$/.test(ref)) {
    const named = byOrdinal(environment, noun, within, Number(ref));
    if (named.length > 0) return named;
  }
  const found = beginnings(ref, noun).flatMap((beginning) => environment.idsFrom(noun, beginning, maxCandidates, within));
  return found.includes(ref) ? [ref] : found.slice(0, maxCandidates);
}

/** Where the dashes of a uuid stand. */
const dashes = [8, 13, 18, 23];

/** What an id begins with that is meant by a reference: with its noun, and with the dashes where they belong. */
function beginnings(ref: string, noun: Noun): string[] {
  const bare = (ref.startsWith(`${noun}:`) ? ref.slice(noun.length + 1) : ref)
    .replace(/^import:/, "")
    .replaceAll("-", "")
    .toLowerCase();
  if (!/^[0-9a-f]{1,32}$/.test(bare)) return [];
  const uuid = dashes.reduce((text, place) => (text.length > place ? `${text.slice(0, place)}-${text.slice(place)}` : text), bare);
  const isImport = ref.replace(/^thread:/, "").startsWith("import:");
  const plain = isImport ? [] : [`${noun}:${uuid}`];
  return noun === "thread" ? [...plain, `thread:import:${bare}`] : plain;
}

function newest(environment: Environment, noun: Noun, within: ThreadId | undefined): string[] {
  const { threads, transfers, tasks, moves, projects } = environment;
  const one = { limit: 1, newestFirst: true } as const;
  switch (noun) {
    case "thread":
      return ids(threads.list({ includeDeleted: true, limit: 1 }));
    case "run":
      return within === undefined ? environment.idsFrom("run", "run:", 1) : ids(threads.runs(within, one));
    case "checkpoint":
      return within === undefined
        ? environment.idsFrom("checkpoint", "checkpoint:", 1)
        : [threads.get(within)?.latestStable?.checkpointId ?? []].flat();
    case "task":
      return ids(tasks.list({ ...one, ...(within !== undefined && { parent: within }) }));
    case "transfer":
      return ids(transfers.list({ ...one, ...(within !== undefined && { target: within }) }));
    case "handoff":
      return environment.idsFrom("handoff", "handoff:", 1);
    case "link":
      return environment.idsFrom("link", "link:", 1);
    case "move":
      return ids(moves.list({ limit: 1, ...(within !== undefined && { thread: within }) }));
    case "project":
      return ids(projects.list().slice(-1));
  }
}

const ids = (records: readonly { id: string }[]): string[] => records.map(({ id }) => id);

function byOrdinal({ threads }: Environment, noun: Noun, within: ThreadId, ordinal: number): string[] {
  if (noun === "checkpoint")
    return threads.checkpoints(within, { limit: 1, afterOrdinal: ordinal - 1 }).flatMap((c) => (c.ordinal === ordinal ? [c.id] : []));
  if (noun === "run") return threads.runs(within, { limit: 1, ordinal }).map((run) => run.id);
  return [];
}
