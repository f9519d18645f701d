import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { routesOf } from "../../services/http/app.ts";
import { openApiDocument } from "../../services/http/openapi.ts";
import type { Route } from "../../services/http/route.ts";
import { backupRoutes } from "../../services/http/routes/backups.ts";
import { type ClientDoor, clientRoutes } from "../../services/http/routes/clients.ts";
import { linkDeskRoutes } from "../../services/http/routes/link-desk.ts";
import { purgeRoutes } from "../../services/http/routes/purge.ts";
import type { Environment } from "../../services/runtime/environment-api.ts";

/**
 * The HTTP API as `docs/openapi.json`: all routes, also those that are answered on the unix socket only. Run as a program it
 * writes the file (`npm run docs:schemas`).
 */
const target = fileURLToPath(new URL("../../docs/openapi.json", import.meta.url));

/** Stands in for an environment: routes are declared with one, and none of them is called here. */
const unused = (): never => new Proxy({}, { get: unused }) as never;

export function documentedRoutes(): Route[] {
  const environment: Environment = unused();
  const door: ClientDoor = unused();
  const own = [...clientRoutes(door), ...backupRoutes(unused(), () => {}), ...linkDeskRoutes(unused()), ...purgeRoutes(unused())];
  return routesOf(environment, { shutdown: () => {}, routes: own });
}

export const renderOpenApi = (): string => `${JSON.stringify(openApiDocument(documentedRoutes()), null, 2)}\n`;
export const storedOpenApi = (): string => readFileSync(target, "utf8");

if (import.meta.main) writeFileSync(target, renderOpenApi());
