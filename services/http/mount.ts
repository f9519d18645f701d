import type { Context, Hono } from "hono";
import { z } from "zod";
import type { Caller } from "../../schemas/command.ts";
import { refusal } from "../../schemas/refusal.ts";
import { accessRefusal } from "../runtime/command-access.ts";
import type { Environment } from "../runtime/environment-api.ts";
import { stampThatBounds } from "../runtime/sight.ts";
import { parsed } from "./input.ts";
import { problemResponse } from "./problem.ts";
import type { Route } from "./route.ts";
import { HttpRefusal } from "./statuses.ts";

export type Callers = {
  /** Who sends a request, asked anew for each; null: nobody vouches for it. Absent: this machine's user. */
  callerOf?: ((request: Request) => Caller | null | Promise<Caller | null>) | undefined;
  /** Parameters of the `WWW-Authenticate: Bearer` that an unknown caller is answered, e.g. where to look for OAuth. */
  challenge?: ((request: Request) => string) | undefined;
};

const user: Caller = { kind: "user" };
const noBearer = refusal("capability_denied", "unknown_caller", "nobody vouches for this caller", "Send a token that is known here.");

/** Mounts declared routes: for each the caller, its access, the checked input, then the handler. Other methods are answered 405. */
export function mount(app: Hono, environment: Environment, routes: readonly Route[], { callerOf, challenge }: Callers): void {
  for (const declared of routes) {
    const params = z.strictObject(declared.params ?? {});
    const query = z.strictObject(declared.query ?? {});
    app.on(declared.method, declared.path, async (c) => {
      const request = c.req.raw;
      const caller = declared.access === "nothing" || callerOf === undefined ? user : await callerOf(request);
      if (caller === null) return unauthorized(challenge?.(request));
      hold(environment, declared, caller);
      const asked = {
        params: parsed(params, c.req.param(), "path"),
        query: parsed(query, queryOf(c), "query"),
        caller,
        request,
      };
      const answer: unknown = await declared.handle(asked);
      if (!(answer instanceof Response)) return c.json(answer as object);
      // Nobody reads the body of this, and nobody else would end it.
      if (request.method === "HEAD") await answer.body?.cancel();
      return answer;
    });
  }
  for (const [path, methods] of methodsByPath(routes))
    app.all(path, (c) => {
      const what = refusal(
        "invalid_request",
        "wrong_method",
        `${path} takes ${methods}, not ${c.req.method}`,
        "Look into /v1/openapi.json.",
      );
      return problemResponse(what, {}, { allow: methods });
    });
}

/** Refuses a caller that may not do what the route does. */
function hold(environment: Environment, { access }: Route, caller: Caller): void {
  if (access === "nothing" || access === "by_command") return;
  const denied = accessRefusal(caller, access);
  if (denied !== null) throw new HttpRefusal(denied);
  if (stampThatBounds(environment, caller) === null) return;
  throw new HttpRefusal(
    refusal("capability_denied", "not_for_links", "what a link started may not read this environment", "Use the tools of its session."),
  );
}

/** The query, each parameter once: of two that say different things, neither is taken. */
function queryOf(c: Context): Record<string, unknown> {
  return Object.fromEntries(Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

function methodsByPath(routes: readonly Route[]): [string, string][] {
  const byPath = Map.groupBy(routes, (declared) => declared.path);
  return [...byPath].map(([path, declared]) => [
    path,
    declared.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", "),
  ]);
}

function unauthorized(challenge: string | undefined): Response {
  const parameters = ['realm="ropewalk"', challenge].filter((part) => part !== undefined && part !== "").join(", ");
  return problemResponse(noBearer, {}, { "www-authenticate": `Bearer ${parameters}` });
}
