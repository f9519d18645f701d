export type ParsedBody = { ok: true; value: unknown } | { ok: false; reason: "ill_formed_unicode" | "malformed_json"; message: string };

/**
 * JSON from bytes, strictly: bytes that are no UTF-8 and escapes of lone surrogates are refused, since the store would
 * keep U+FFFD in their place without a word (decision 15).
 */
export function parseBody(body: Uint8Array | string): ParsedBody {
  let text: string;
  try {
    text = typeof body === "string" ? body : new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return { ok: false, reason: "ill_formed_unicode", message: "the body is not UTF-8" };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { ok: false, reason: "malformed_json", message: `the body is not JSON: ${(error as Error).message}` };
  }
  // Bytes that are UTF-8 hold no lone surrogates; only an escape, or a text that never was bytes, can bring one in.
  const path = !text.isWellFormed() || /\\u[dD][89a-fA-F]/.test(text) ? illFormedAt(value) : null;
  if (path !== null) return { ok: false, reason: "ill_formed_unicode", message: `${path} is not well-formed Unicode (a lone surrogate)` };
  return { ok: true, value };
}

/** Path of a string or key that holds a lone surrogate. With a stack of its own: a body may be nested deeper than calls can be. */
function illFormedAt(root: unknown): string | null {
  const open: { value: unknown; path: string }[] = [{ value: root, path: "" }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    if (typeof value === "string" && !value.isWellFormed()) return path || "the body";
    if (value === null || typeof value !== "object") continue;
    for (const [key, element] of Object.entries(value)) {
      if (!key.isWellFormed()) return path === "" ? "a key" : `a key of ${path}`;
      open.push({ value: element, path: path === "" ? key : `${path}.${key}` });
    }
  }
  return null;
}
