import type { Context } from "hono";

/** The fields of a posted form; null for a body that is none, or has a field twice. `many` names those that may be there often. */
export async function formOf(c: Context, many: readonly string[] = []): Promise<URLSearchParams | null> {
  const [type = ""] = (c.req.header("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded") return null;
  const fields = new URLSearchParams(await c.req.text());
  const twice = [...new Set(fields.keys())].some((name) => !many.includes(name) && fields.getAll(name).length > 1);
  return twice ? null : fields;
}
