import { z } from "zod";
import { refuse } from "./refused.ts";

/** Where the next page begins, as a text that means nothing to the caller. */
export function toCursor(place: object): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

export function fromCursor<T extends z.ZodType>(cursor: string, schema: T): z.output<T> {
  const parsed = schema.safeParse(parse(cursor));
  if (parsed.success) return parsed.data;
  refuse("invalid_request", "bad_cursor", "the cursor is not one of this list's", "Leave it out to begin anew.");
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    return null;
  }
}

export const Cursor = z.string().max(500);
