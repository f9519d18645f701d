import { Hono } from "hono";
import { limits } from "../../schemas/limits.ts";
import { refusal } from "../../schemas/refusal.ts";
import { CommandRefused, type Environment } from "../runtime/environment-api.ts";
import { Incident } from "./incident.ts";
import { type Callers, mount } from "./mount.ts";
import { problemResponse } from "./problem.ts";
import type { Route } from "./route.ts";
import { chartRoutes } from "./routes/charts.ts";
import { commandRoutes } from "./routes/commands.ts";
import { directoryRoutes } from "./routes/directory.ts";
import { documentRoutes } from "./routes/document.ts";
import { feedRoutes } from "./routes/feed.ts";
import { itemRoutes } from "./routes/items.ts";
import { linkRoutes } from "./routes/links.ts";
import { moveRoutes } from "./routes/moves.ts";
import { needRoutes } from "./routes/needs.ts";
import { runRoutes } from "./routes/runs.ts";
import { shutdownRoutes } from "./routes/shutdown.ts";
import { syncRoutes } from "./routes/sync.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { threadRoutes } from "./routes/threads.ts";
import { transferRoutes } from "./routes/transfers.ts";
import { workspaceRoutes } from "./routes/workspaces.ts";
import { HttpRefusal } from "./statuses.ts";

export type HttpAppOptions = Callers & {
  /** Largest body of a command; default 64 MiB. */
  maxBodyBytes?: number;
  /** A feed without news says that it is alive this often; default 15 s. */
  heartbeatMs?: number;
  /** How often a feed of a thread looks at the unfinished text of its run; default 150 ms. */
  progressMs?: number;
  /** What changes within this time after a patch of a live view goes together with the next one; default 250 ms. */
  coalesceMs?: number;
  /** Ends open feeds. */
  signal?: AbortSignal;
  /** What `POST /v1/shutdown` does; without it nobody can end the environment this way. */
  shutdown?: () => void;
  /** Routes that somebody else declares, e.g. to let clients in. */
  routes?: readonly Route[];
  /** Told of errors that nobody foresaw, each as an {@link Incident}. */
  onError?: (error: Error) => void;
};

/**
 * The API of one environment, all below `/v1`; `/v1/openapi.json` describes it. Reads answer with `{commit, …}`: the state at
 * that commit, from which `/v1/feed?after=COMMIT` goes on. What is refused is answered with problem details.
 */
export function createHttpApp(environment: Environment, options: HttpAppOptions = {}): Hono {
  const app = new Hono().basePath("/v1");
  mount(app, environment, routesOf(environment, options), options);
  app.notFound((c) => problemResponse(unknownRoute(c.req.method, c.req.path)));
  app.onError((error, c) => {
    if (error instanceof HttpRefusal || error instanceof CommandRefused) return problemResponse(error.refusal);
    const incident = new Incident(c.req.raw, error);
    options.onError?.(incident);
    return problemResponse(incident.refusal);
  });
  return app;
}

/** All routes that an application with these options answers. */
export function routesOf(environment: Environment, options: HttpAppOptions = {}): Route[] {
  const routes = [
    ...commandRoutes(environment, {
      maxBodyBytes: options.maxBodyBytes ?? limits.importRequestBytes,
      onIncident: (incident) => options.onError?.(incident),
    }),
    ...directoryRoutes(environment),
    ...workspaceRoutes(environment),
    ...threadRoutes(environment),
    ...itemRoutes(environment),
    ...runRoutes(environment),
    ...transferRoutes(environment),
    ...taskRoutes(environment),
    ...linkRoutes(environment),
    ...moveRoutes(environment),
    ...needRoutes(environment),
    ...chartRoutes(),
    ...feedRoutes(environment, {
      heartbeatMs: options.heartbeatMs ?? 15_000,
      progressMs: options.progressMs ?? 150,
      signal: options.signal ?? new AbortController().signal,
    }),
    ...syncRoutes(environment, {
      heartbeatMs: options.heartbeatMs ?? 15_000,
      coalesceMs: options.coalesceMs ?? 250,
      signal: options.signal ?? new AbortController().signal,
    }),
    ...(options.shutdown === undefined ? [] : shutdownRoutes(options.shutdown)),
    ...(options.routes ?? []),
  ];
  return [...routes, ...documentRoutes(routes)];
}

const unknownRoute = (method: string, path: string) =>
  refusal("invalid_request", "unknown_route", `nothing answers ${method} ${path}`, "Look into /v1/openapi.json for the routes.");
