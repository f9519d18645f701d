import type { Context } from "hono";
import { html, raw } from "hono/html";
import { pagePolicy, style } from "./style.ts";

/** A piece of a page; what is put into one is escaped. */
export type Piece = ReturnType<typeof html>;

export type PageOptions = {
  status: 200 | 400 | 403 | 429 | 503;
  title: string;
  body: Piece;
  /** Where the page's form may end, besides here. */
  formEndsAt?: string;
  headers?: Record<string, string>;
};

/** A whole page, which nobody keeps, frames or adds a script to. */
export async function page(c: Context, { status, title, body, formEndsAt, headers = {} }: PageOptions): Promise<Response> {
  const text = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${raw(style)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
  return c.body(text.toString(), status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": pagePolicy(formEndsAt ?? null),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    // The address holds what the program asks, which is no other site's business. "no-referrer" would also take the form's
    // own Origin away, by which it is known to be ours.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    ...headers,
  });
}
