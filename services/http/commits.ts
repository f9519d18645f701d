import type { Change } from "../../schemas/feed.ts";
import type { Environment } from "../runtime/environment-api.ts";

/** The changes of one commit, all of them. */
type CommitChanges = { commit: number; changes: Change[] };
export type CommitPage = {
  commits: CommitChanges[];
  /** Everything up to this commit is in this page or was before it; commits that changed nothing a client sees have no entry. */
  through: number;
};

const largestPage = 1_000_000;

/**
 * Committed changes after `after`, oldest first and never a part of a commit: whoever remembers `through` and comes back
 * misses nothing and sees nothing twice. `limit` is how many changes are read at once, more only when one commit has more.
 */
export function readCommits(environment: Environment, after: number, limit: number): CommitPage {
  const newest = environment.lastCommit;
  if (after >= newest) return { commits: [], through: after };
  for (let size = limit; ; size *= 4) {
    const changes = environment.changes(after, size);
    const all = byCommit(changes);
    if (changes.length < size) return { commits: all, through: newest };
    // The page is full: its last commit may go on behind it, so it is left for the next one.
    const whole = all.slice(0, -1);
    const last = whole.at(-1);
    if (last !== undefined) return { commits: whole, through: last.commit };
    if (size > largestPage) throw new Error(`commit ${all[0]?.commit} holds more than ${size} changes`);
  }
}

function byCommit(changes: readonly Change[]): CommitChanges[] {
  const commits: CommitChanges[] = [];
  for (const change of changes) {
    const last = commits.at(-1);
    if (last !== undefined && last.commit === change.commit) last.changes.push(change);
    else commits.push({ commit: change.commit, changes: [change] });
  }
  return commits;
}
