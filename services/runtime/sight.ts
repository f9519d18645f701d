import type { Caller } from "../../schemas/command.ts";
import type { LinkOrigin } from "../../schemas/thread.ts";
import type { Environment } from "./environment-api.ts";

/**
 * The stamp that bounds what a caller may read, or null when nothing does. What a link started sees what carries the same
 * stamp and nothing else of this environment, unless the link was granted to read (contract §8): else a peer would read by
 * its agents what it may not read itself.
 */
export function stampThatBounds(environment: Pick<Environment, "threads" | "links">, caller: Caller): LinkOrigin | null {
  const stamp = caller.kind === "thread" ? (environment.threads.get(caller.threadId)?.linkOrigin ?? null) : null;
  const mayRead = stamp !== null && environment.links.get(stamp.linkId)?.grants.some(({ kind }) => kind === "read");
  return mayRead === true ? null : stamp;
}
