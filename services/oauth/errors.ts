import type { Context } from "hono";

/** An answer of OAuth's endpoints for programs (RFC 6749, 5.2). Says nothing of the inside. */
export function oauthError(c: Context, status: 400 | 401 | 413 | 429 | 503, error: string, description: string): Response {
  return c.json({ error, error_description: description }, status, { "cache-control": "no-store" });
}

/** The same for one that comes too often. `waitMs`: from when on it may again. */
export function tooOften(c: Context, waitMs: number): Response {
  c.header("retry-after", retryAfter(waitMs));
  return oauthError(c, 429, "temporarily_unavailable", "too many requests; see Retry-After");
}

export const retryAfter = (waitMs: number) => String(Math.max(1, Math.ceil(waitMs / 1_000)));
