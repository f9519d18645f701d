/** How long a browser need not ask again. */
const maxAgeSeconds = 600;
const methods = "GET, POST, DELETE";
/** What programs in a page have to be able to read: where to be let in, their session, how long to wait. */
const readable = "www-authenticate, mcp-session-id, mcp-protocol-version, retry-after, etag, content-range";

/** The page that a request comes from, where that is one of another address of the environment's own names; else null. */
export function crossOrigin(request: Request, origin: string): string | null {
  const from = request.headers.get("origin");
  return from === null || from === origin ? null : from;
}

/** The answer to a browser that asks beforehand, or null for a request that is to be answered. */
export function preflight(request: Request, from: string): Response | null {
  if (request.method !== "OPTIONS" || !request.headers.has("access-control-request-method")) return null;
  const asked = request.headers.get("access-control-request-headers");
  return readableBy(from, new Response(null, { status: 204, headers: preflightHeaders(asked) }));
}

/**
 * Lets that page read the answer; the guard has looked at whose it is. It is given nothing by that: there is no cookie, and
 * whoever wants something needs a token.
 */
export function readableBy(from: string, answer: Response): Response {
  answer.headers.set("access-control-allow-origin", from);
  answer.headers.set("access-control-expose-headers", readable);
  answer.headers.append("vary", "origin");
  return answer;
}

const preflightHeaders = (asked: string | null): Record<string, string> => ({
  "access-control-allow-methods": methods,
  "access-control-max-age": String(maxAgeSeconds),
  ...(asked !== null && /^[\w-]+(,\s*[\w-]+)*$/.test(asked) && { "access-control-allow-headers": asked }),
});
