import { z } from "zod";
import { ThreadId } from "../../../schemas/ids.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import { Cursor, fromCursor, toCursor } from "../cursor.ts";
import { limitOf } from "../shapes.ts";
import { defineTool, type ToolContext } from "../tool.ts";
import { ThreadView, threadView } from "../views/thread.ts";

const usual = 20;
const batch = 200;
/** A caller that sees few of many threads gets what was found so far, and a cursor. */
const maxBatches = 5;
const Place = z.object({ after: ThreadId });

export const t3ThreadList = defineTool({
  name: "t3_thread_list",
  description: "Threads here, newest first; with parentThreadId its forks and subagents.",
  access: "reads",
  hints: {},
  input: z.strictObject({ parentThreadId: ThreadId.optional(), limit: limitOf(100), cursor: Cursor.optional() }),
  output: z.object({ threads: z.array(ThreadView), nextCursor: z.string().nullable() }),
  run({ parentThreadId, limit = usual, cursor }, context) {
    const after = cursor === undefined ? undefined : fromCursor(cursor, Place).after;
    const { found, next } = page(context, parentThreadId, limit, after);
    return { threads: found.map(threadView), nextCursor: next === null ? null : toCursor({ after: next }) };
  },
});

function page({ environment, sight }: ToolContext, parent: ThreadId | undefined, limit: number, from: ThreadId | undefined) {
  const found: AppThread[] = [];
  let after = from;
  const size = sight.stamp === null ? limit + 1 : batch;
  for (let round = 0; round < maxBatches; round++) {
    const listed = environment.threads.list({
      limit: size,
      ...(parent !== undefined && { parent }),
      ...(after !== undefined && { after }),
    });
    for (const thread of listed) {
      if (found.length === limit) return { found, next: after ?? null };
      if (sight.sees(thread)) found.push(thread);
      after = thread.id;
    }
    if (listed.length < size) return { found, next: null };
  }
  return { found, next: after ?? null };
}
