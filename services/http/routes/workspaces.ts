import { z } from "zod";
import { RunId, ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { Refused } from "../../runtime/refused.ts";
import { DifferenceAnswer, UndoPreviewAnswer, WorkspacesAnswer } from "../answers.ts";
import { positive } from "../input.ts";
import { type Route, route } from "../route.ts";
import { HttpRefusal } from "../statuses.ts";

const usualChars = 1_000_000;
const maxChars = 10_000_000;

/** The folders that threads work in, and what changed in them. */
export function workspaceRoutes(environment: Environment): Route[] {
  const { workspaces } = environment;
  return [
    route({
      method: "GET",
      path: "/workspaces",
      name: "getWorkspaces",
      about: "environment",
      summary: "Worktrees with their sizes, what is kept in repositories, and what of it is not as it should be.",
      access: "reads",
      answer: { kind: "json", schema: WorkspacesAnswer },
      handle: async () => ({ workspaces: await workspaces.inspect(), commit: environment.lastCommit }),
    }),
    route({
      method: "GET",
      path: "/threads/:id/diff",
      name: "getDifference",
      about: "threads",
      summary:
        "What changed in a thread's files: in one of its runs, or since its worktree began (in a folder not its own: since the last commit).",
      access: "reads",
      params: { id: ThreadId },
      query: { run: RunId.optional(), maxChars: positive(maxChars).optional() },
      answer: { kind: "json", schema: DifferenceAnswer },
      refuses: ["thread_not_found", "run_not_found", "invalid_request"],
      handle: async ({ params: { id }, query: { run = null, maxChars: most = usualChars } }) => ({
        difference: await refusing(workspaces.difference(id, run, most)),
        commit: environment.lastCommit,
      }),
    }),
    route({
      method: "GET",
      path: "/threads/:id/undo",
      name: "previewUndo",
      about: "threads",
      summary: "What an undo would take back: runs, and changes in the thread's own worktree. Changes nothing.",
      access: "reads",
      params: { id: ThreadId },
      query: { to: z.union([RunId, z.literal("start")]).optional() },
      answer: { kind: "json", schema: UndoPreviewAnswer },
      refuses: ["thread_not_found", "run_not_found", "invalid_request"],
      handle: async ({ params: { id }, query: { to } }) => ({
        ...(await refusing(workspaces.undoPreview(id, to === "start" ? null : to))),
        commit: environment.lastCommit,
      }),
    }),
  ];
}

async function refusing<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof Refused ? new HttpRefusal(error.refusal) : error;
  }
}
