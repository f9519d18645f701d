/** The token of `Authorization: Bearer …`, or null where there is none. */
export function bearerToken(request: Request): string | null {
  const [scheme, token, ...more] = (request.headers.get("authorization") ?? "").trim().split(/\s+/);
  return scheme?.toLowerCase() === "bearer" && token !== undefined && more.length === 0 ? token : null;
}
