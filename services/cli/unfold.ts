import type { Content, ItemBody, VisibleItem } from "../../schemas/item.ts";
import type { LocalClient } from "../http/client.ts";

/** Puts texts that are kept apart into the items that refer to them. */
export async function unfolded(client: LocalClient, items: VisibleItem[]): Promise<void> {
  for (const { body } of items) {
    for (const [name, value] of Object.entries(body)) {
      if (isApart(value)) (body as ItemBody & Record<string, unknown>)[name] = { text: decode(await client.blob(value.blob.digest)) };
    }
  }
}

/** The text of a content, whole. */
export async function wholeText(client: LocalClient, content: Content): Promise<string> {
  return "text" in content ? content.text : decode(await client.blob(content.blob.digest));
}

const isApart = (value: unknown): value is Extract<Content, { blob: unknown }> =>
  typeof value === "object" && value !== null && "blob" in value && typeof value.blob === "object";

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
