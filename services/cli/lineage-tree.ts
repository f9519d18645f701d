import type { AppThread } from "../../schemas/thread.ts";

export type TreeRow = { thread: AppThread /** Drawn before its title; empty for a root. */; branch: string };

/**
 * Threads with those that came from them below them: roots in the order that they are given in, what
 * came from a thread in the order of its making. A thread whose parent is not among them (deleted, or in another
 * environment) is a root.
 */
export function lineageRows(threads: readonly AppThread[]): TreeRow[] {
  const here = new Set(threads.map((t) => t.id));
  const below = new Map<string, AppThread[]>();
  const roots: AppThread[] = [];
  for (const thread of threads) {
    const { parentThreadId } = thread.lineage;
    if (parentThreadId === null || !here.has(parentThreadId)) roots.push(thread);
    else below.set(parentThreadId, [...(below.get(parentThreadId) ?? []), thread]);
  }
  const rows: TreeRow[] = [];
  // With a list of its own: forks of forks may go deeper than calls can.
  const open = roots.map((thread) => ({ thread, branch: "", indent: "" })).reverse();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { thread, branch, indent } = next;
    rows.push({ thread, branch });
    const children = (below.get(thread.id) ?? []).sort((a, b) => a.createdAt - b.createdAt);
    children.forEach((_, place) => {
      const child = children[children.length - 1 - place] as AppThread;
      const isLast = place === 0;
      open.push({ thread: child, branch: `${indent}${isLast ? "└─ " : "├─ "}`, indent: `${indent}${isLast ? "   " : "│  "}` });
    });
  }
  return rows;
}
