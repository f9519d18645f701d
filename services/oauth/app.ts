import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { CommandRefused } from "../runtime/environment-api.ts";
import type { DoorEnv } from "./bindings.ts";
import { oauthError } from "./errors.ts";
import { oauthLimits } from "./limits.ts";
import { authorizationRoutes } from "./routes/authorize.ts";
import { metadataRoutes } from "./routes/metadata.ts";
import { registrationRoutes } from "./routes/register.ts";
import { revocationRoutes } from "./routes/revoke.ts";
import { tokenRoutes } from "./routes/token.ts";
import type { OAuth } from "./service.ts";

/** OAuth's endpoints, for whoever comes. `onError` is told of errors that nobody foresaw. */
export function createOAuthApp(oauth: OAuth, onError: (error: Error) => void = () => {}): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();
  app.use("/oauth/*", bodyLimit({ maxSize: oauthLimits.bodyBytes, onError: (c) => oauthError(c, 413, "invalid_request", "too large") }));
  app
    .route("/", metadataRoutes())
    .route("/", registrationRoutes(oauth))
    .route("/", authorizationRoutes(oauth))
    .route("/", tokenRoutes(oauth))
    .route("/", revocationRoutes(oauth));
  app.onError((error, c) => {
    // A file that cannot be written is told here, in the log, and not to whoever comes.
    onError(error);
    return oauthError(c, 503, "temporarily_unavailable", error instanceof CommandRefused ? error.refusal.reason : "it failed");
  });
  return app;
}
