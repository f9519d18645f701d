import { Hono } from "hono";
import { limits } from "../../schemas/limits.ts";
import { type Refusal, refusal } from "../../schemas/refusal.ts";
import type { Environment } from "../runtime/environment-api.ts";
import { chartRoutes } from "./routes/charts.ts";
import { commandRoutes } from "./routes/commands.ts";
import { directoryRoutes } from "./routes/directory.ts";
import { feedRoutes } from "./routes/feed.ts";
import { linkRoutes } from "./routes/links.ts";
import { runRoutes } from "./routes/runs.ts";
import { shutdownRoutes } from "./routes/shutdown.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { threadRoutes } from "./routes/threads.ts";
import { transferRoutes } from "./routes/transfers.ts";
import { HttpRefusal, statusOf } from "./statuses.ts";

export type HttpAppOptions = {
  /** Largest body of a command; default 64 MiB. */
  maxBodyBytes?: number;
  /** A feed without news says that it is alive this often; default 15 s. */
  heartbeatMs?: number;
  /** How often a feed of a thread looks at the unfinished text of its run; default 150 ms. */
  progressMs?: number;
  /** Ends open feeds. */
  signal?: AbortSignal;
  /** What `POST /v1/shutdown` does; without it nobody can end the environment this way. */
  shutdown?: () => void;
  /** Told of errors that nobody foresaw. */
  onError?: (error: Error) => void;
};

/**
 * The API of one environment, all below `/v1`. Reads answer with `{commit, …}`: the snapshot at that commit, from which
 * `/v1/feed?after=COMMIT` goes on. Whatever is refused answers with `{ok: false, refusal}` and the status of its code.
 */
export function createHttpApp(environment: Environment, options: HttpAppOptions = {}): Hono {
  const feed = {
    heartbeatMs: options.heartbeatMs ?? 15_000,
    progressMs: options.progressMs ?? 150,
    signal: options.signal ?? new AbortController().signal,
  };
  const app = new Hono().basePath("/v1");
  app
    .route("/", commandRoutes(environment, options.maxBodyBytes ?? limits.importRequestBytes))
    .route("/", directoryRoutes(environment))
    .route("/", threadRoutes(environment))
    .route("/", runRoutes(environment))
    .route("/", transferRoutes(environment))
    .route("/", taskRoutes(environment))
    .route("/", linkRoutes(environment))
    .route("/", chartRoutes())
    .route("/", feedRoutes(environment, feed));
  if (options.shutdown !== undefined) app.route("/", shutdownRoutes(options.shutdown));
  app.notFound((c) => c.json(refused(unknownRoute(c.req.method, c.req.path)), 404));
  app.onError((error, c) => {
    if (error instanceof HttpRefusal) return c.json(refused(error.refusal), statusOf(error.refusal));
    options.onError?.(error);
    return c.json(refused(internal(error)), 500);
  });
  return app;
}

const refused = (what: Refusal) => ({ ok: false, refusal: what });
const unknownRoute = (method: string, path: string) =>
  refusal("invalid_request", "unknown_route", `nothing answers ${method} ${path}`, "Look at docs for the routes below /v1.");
const internal = (error: Error) =>
  refusal("orchestration_error", "internal", error.message, "Report it with the output of ropewalk doctor.", {
    stack: error.stack ?? null,
  });
