import { z } from "zod";
import { ThreadId, TransferId } from "../../../schemas/ids.ts";
import type { ContextTransfer } from "../../../schemas/transfer.ts";
import { Cursor, fromCursor, toCursor } from "../cursor.ts";
import { findThread } from "../find.ts";
import { limitOf } from "../shapes.ts";
import { defineTool, type ToolContext } from "../tool.ts";
import { TransferView, transferView } from "../views/transfer.ts";

const usual = 20;
/** The last one told of each direction. */
const Place = z.object({ target: TransferId.optional(), source: TransferId.optional() });
type Place = z.infer<typeof Place>;

export const t3ThreadTransfers = defineTool({
  name: "t3_thread_transfers",
  description: "What was handed to and from a thread, newest first. A handoff's text is the resource ropewalk://handoff/<handoffId>.",
  access: "reads",
  hints: {},
  input: z.strictObject({ threadId: ThreadId, limit: limitOf(100), cursor: Cursor.optional() }),
  output: z.object({ transfers: z.array(TransferView), nextCursor: z.string().nullable() }),
  run({ threadId, limit = usual, cursor }, context) {
    findThread(context, threadId);
    const { page, next } = merge(context, threadId, limit, cursor === undefined ? {} : fromCursor(cursor, Place));
    return { transfers: page.map((t) => transferView(context.environment, t)), nextCursor: next === null ? null : toCursor(next) };
  },
});

/** Both directions as one list. Each keeps its own place, so that no clock decides what a later page holds. */
function merge({ environment }: ToolContext, threadId: ThreadId, limit: number, from: Place) {
  const part = (direction: "target" | "source") => {
    const after = from[direction];
    return environment.transfers.list({
      [direction]: threadId,
      limit: limit + 1,
      newestFirst: true,
      ...(after !== undefined && { after }),
    });
  };
  const into = part("target");
  const out = part("source");
  const page: ContextTransfer[] = [];
  const place = { ...from };
  const take = (direction: "target" | "source", transfer: ContextTransfer) => {
    place[direction] = transfer.id;
    // A change of provider has the thread at both ends; it is told once.
    if (direction === "target" || transfer.targetThreadId !== threadId) page.push(transfer);
  };
  while (page.length < limit && into.length + out.length > 0) {
    const older = (into[0]?.createdAt ?? -1) < (out[0]?.createdAt ?? -1);
    if (older) take("source", out.shift() as ContextTransfer);
    else take("target", into.shift() as ContextTransfer);
  }
  return { page, next: into.length + out.length > 0 ? place : null };
}
