import type { Content } from "../../schemas/item.ts";

/** A text of a provider's as an item holds it. */
export function content(text: string): Content {
  return { text: wellFormed(text) };
}

/** A lone surrogate (half of an emoji that a stream was cut in) is refused by our schemas. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** Text parts as their text, everything else as JSON. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textOf).join("\n");
  const text = (value as { text?: unknown }).text;
  return typeof text === "string" ? text : JSON.stringify(value);
}
