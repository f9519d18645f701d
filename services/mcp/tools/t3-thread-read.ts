import { z } from "zod";
import { ThreadId } from "../../../schemas/ids.ts";
import type { VisibleItem } from "../../../schemas/item.ts";
import type { ItemPlace } from "../../runtime/environment-api.ts";
import { Cursor, fromCursor, toCursor } from "../cursor.ts";
import { findThread } from "../find.ts";
import { limitOf } from "../shapes.ts";
import { defineTool, type ToolContext } from "../tool.ts";
import { type ItemView, ItemView as ItemViewSchema, itemView } from "../views/item.ts";
import { ThreadView, threadView } from "../views/thread.ts";

const usual = 20;
const itemChars = 4_000;
const pageChars = 24_000;
const batch = 100;
/** A page looks at so many items at most; who asks for messages alone goes on by the cursor. */
const maxBatches = 10;
const messages: readonly string[] = ["user_message", "assistant_message"];

const Place = z.object({ oldestFirst: z.boolean(), threadId: ThreadId, runOrdinal: z.int(), position: z.int() });

export const t3ThreadRead = defineTool({
  name: "t3_thread_read",
  description: "Read a thread in pages, newest first unless oldestFirst. What a fork inherits is marked inherited. Long texts are cut.",
  access: "reads",
  hints: {},
  input: z.strictObject({
    threadId: ThreadId,
    messagesOnly: z.boolean().optional(),
    oldestFirst: z.boolean().optional(),
    limit: limitOf(100),
    cursor: Cursor.optional(),
  }),
  output: z.object({ thread: ThreadView, items: z.array(ItemViewSchema), nextCursor: z.string().nullable() }),
  run({ threadId, messagesOnly = false, oldestFirst, limit = usual, cursor }, context) {
    const thread = findThread(context, threadId);
    const place = cursor === undefined ? null : fromCursor(cursor, Place);
    const forward = place?.oldestFirst ?? oldestFirst ?? false;
    const { items, next } = readPage(context, threadId, { forward, messagesOnly, limit, after: place });
    return { thread: threadView(thread), items, nextCursor: next === null ? null : toCursor({ oldestFirst: forward, ...next }) };
  },
});

type Page = { forward: boolean; messagesOnly: boolean; limit: number; after: ItemPlace | null };

function readPage({ environment }: ToolContext, id: ThreadId, page: Page): { items: ItemView[]; next: ItemPlace | null } {
  const items: ItemView[] = [];
  let chars = 0;
  let after = page.after;
  for (let round = 0; round < maxBatches; round++) {
    const read = environment.threads.items(id, { newestFirst: !page.forward, limit: batch, ...(after !== null && { after }) });
    for (const item of read) {
      if (page.messagesOnly && !messages.includes(item.body.kind)) {
        after = placeOf(item);
        continue;
      }
      const view = itemView(environment, item, itemChars);
      if (items.length === page.limit || (items.length > 0 && chars + view.text.length > pageChars)) return { items, next: after };
      items.push(view);
      chars += view.text.length;
      after = placeOf(item);
    }
    if (read.length < batch) return { items, next: null };
  }
  return { items, next: after };
}

function placeOf({ threadId, runOrdinal, position }: VisibleItem): ItemPlace {
  return { threadId, runOrdinal, position };
}
