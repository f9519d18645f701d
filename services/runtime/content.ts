import { createHash } from "node:crypto";
import type { Content, ItemBody } from "../../schemas/item.ts";
import { limits } from "../../schemas/limits.ts";
import type { Overlay } from "./overlay.ts";

/** Text as an item keeps it: as it stands, or apart by digest when it is large. */
export function keepText(overlay: Overlay, text: string): Content {
  if (text.length <= limits.inlineItemChars) return { text };
  const bytes = new TextEncoder().encode(text);
  const digest = createHash("sha256").update(bytes).digest("hex");
  if (overlay.blob(digest) === null) overlay.addBlob(digest, bytes);
  const preview = text.slice(0, 500);
  return { blob: { digest, bytes: bytes.length, preview: preview.isWellFormed() ? preview : preview.slice(0, -1) } };
}

/** The whole text of a content. */
export function readText(overlay: Pick<Overlay, "blob">, content: Content): string {
  if ("text" in content) return content.text;
  const bytes = overlay.blob(content.blob.digest);
  return bytes === null ? content.blob.preview : new TextDecoder().decode(bytes);
}

/** Every text of an item that is large is kept apart. */
export function keepItemBody(overlay: Overlay, body: ItemBody): ItemBody {
  const entries = Object.entries(body).map(([key, value]) => {
    const inline = typeof value === "object" && value !== null && !Array.isArray(value) && "text" in value;
    return [key, inline ? keepText(overlay, (value as { text: string }).text) : value] as const;
  });
  return Object.fromEntries(entries) as ItemBody;
}
