import { createHash } from "node:crypto";
import { z } from "zod";
import { ItemId } from "../../../schemas/ids.ts";
import type { Content, TurnItem } from "../../../schemas/item.ts";
import { Digest } from "../../../schemas/text.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { ItemAnswer } from "../answers.ts";
import { found } from "../input.ts";
import { bytesResponse } from "../ranges.ts";
import { type Route, route } from "../route.ts";

/** Members of an item's body that can be large. */
const parts = ["content", "output", "diff", "arguments", "result"] as const;

/** Items on demand: listings carry a large text as a reference with a preview. */
export function itemRoutes(environment: Environment): Route[] {
  const { threads } = environment;
  const blob = (digest: string) => found(threads.blob(digest), "blob", digest);
  return [
    route({
      method: "GET",
      path: "/items/:id",
      name: "getItem",
      about: "items",
      summary: "An item.",
      access: "reads",
      params: { id: ItemId },
      answer: { kind: "json", schema: ItemAnswer },
      refuses: ["not_found"],
      handle: ({ params: { id } }) => ({ commit: environment.lastCommit, item: found(threads.item(id), "item", id) }),
    }),
    route({
      method: "GET",
      path: "/items/:id/content/:part",
      name: "getItemContent",
      about: "items",
      summary: "A text of an item, however large; `Range` for a part of it.",
      access: "reads",
      params: { id: ItemId, part: z.enum(parts) },
      answer: { kind: "bytes", mediaType: "text/plain; charset=utf-8" },
      refuses: ["not_found"],
      handle({ params: { id, part }, request }) {
        const content = found(contentOf(found(threads.item(id), "item", id), part), `${part} of`, id);
        const [bytes, etag] = "text" in content ? inline(content.text) : [blob(content.blob.digest), content.blob.digest];
        return bytesResponse(request, bytes, "text/plain; charset=utf-8", etag);
      },
    }),
    route({
      method: "GET",
      path: "/blobs/:digest",
      name: "getBlob",
      about: "items",
      summary: "A large text by its digest; `Range` for a part of it.",
      access: "reads",
      params: { digest: Digest },
      answer: { kind: "bytes", mediaType: "application/octet-stream" },
      refuses: ["not_found"],
      handle: ({ params: { digest }, request }) => bytesResponse(request, blob(digest), "application/octet-stream", digest),
    }),
  ];
}

function contentOf({ body }: TurnItem, part: (typeof parts)[number]): Content | null {
  return (body as Partial<Record<(typeof parts)[number], Content>>)[part] ?? null;
}

function inline(text: string): [Uint8Array, string] {
  const bytes = Buffer.from(text);
  return [bytes, createHash("sha256").update(bytes).digest("hex")];
}
