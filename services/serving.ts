import type { HttpConfig } from "../schemas/config.ts";
import { backupRoutes } from "./http/routes/backups.ts";
import { clientRoutes } from "./http/routes/clients.ts";
import { linkDeskRoutes } from "./http/routes/link-desk.ts";
import { purgeRoutes } from "./http/routes/purge.ts";
import type { LocalServer, LocalServerOptions } from "./http/server.ts";
import type { McpOffer } from "./mcp/offer.ts";
import type { NetworkDoor } from "./network-door.ts";
import { OAuth } from "./oauth/service.ts";
import { loadOrCreateConfig } from "./runtime/config-file.ts";
import { CommandRefused, type Environment } from "./runtime/environment-api.ts";
import type { Clock } from "./runtime/ports/clock.ts";
import { systemClock } from "./runtime/system-clock.ts";
import { packageVersion } from "./runtime/version.ts";

export type ServeOptions = Pick<
  LocalServerOptions,
  "maxBodyBytes" | "heartbeatMs" | "progressMs" | "coalesceMs" | "shutdown" | "onError"
> & {
  /** Members that replace those of `http` in `config.json`; null: nobody listens on the network. */
  http?: HttpConfig | null;
  /** Tools of the embedding program, served at `/mcp` beside the environment's own. */
  offer?: McpOffer;
  /** Told of what a person should know, e.g. that the port is another than before. */
  warn?: (facts: object, text: string) => void;
  /** Told of what a person may want to look up later: who was let in, and whose leave was taken back. */
  info?: (facts: object, text: string) => void;
  /** By which codes and tokens run out; default the machine's. */
  clock?: Clock;
};

export type Served = LocalServer & {
  /** Where programs come in, without a path: the API is at `/v1`, the tools (MCP) at `/mcp`. Null: nobody listens there. */
  readonly url: string | null;
};

/**
 * Serves an environment: to this machine's user over its unix socket (decision 41), and to programs that were let in over the
 * network (decision 0104). Close it before the environment. Throws CommandRefused for a configuration that would be unsafe
 * or cannot work, or when `clients.json` cannot be used.
 */
export async function serveEnvironment(environment: Environment, options: ServeOptions = {}): Promise<Served> {
  const loaded = loadOrCreateConfig(environment.dir);
  if (!loaded.ok) throw new CommandRefused(loaded.refusal);
  const { onError = () => {}, warn = () => {}, info, clock = systemClock, http: replaced, offer, shutdown, ...given } = options;
  const http = replaced === undefined ? loaded.config.http : replaced && { ...loaded.config.http, ...replaced };
  const maxBodyBytes = given.maxBodyBytes ?? loaded.config.limits.importRequestBytes;
  // What both doors have. Ending the environment is not in it: that is for the socket.
  const api = { ...given, ...(maxBodyBytes !== undefined && { maxBodyBytes }) };
  const oauth = new OAuth({ dir: environment.dir, environmentId: environment.id, environmentName: environment.name, clock, tell: info });

  const [{ serveLocal }, { mcpUpgrades }] = await Promise.all([import("./http/server.ts"), import("./mcp/local.ts")]);
  const door = http === null ? null : await open(http ?? {});
  async function open(config: HttpConfig): Promise<NetworkDoor> {
    const { openNetworkDoor } = await import("./network-door.ts");
    return openNetworkDoor(environment, oauth, { config, api, offer, onError, warn });
  }
  const url = door?.url ?? null;
  try {
    const onUpgrade = mcpUpgrades(environment, { version: packageVersion(), offer, onError: (error) => onError(error as Error) });
    const clients = clientRoutes({
      url,
      pair: (request) => oauth.pair(request),
      list: () => oauth.list(),
      revoke: (id) => oauth.revoke(id),
    });
    const local = await serveLocal(environment, {
      ...api,
      ...(shutdown !== undefined && { shutdown }),
      onError,
      onUpgrade,
      routes: [
        ...clients,
        ...backupRoutes(environment.backups, onError),
        ...linkDeskRoutes(environment.linkDesk),
        ...purgeRoutes(environment),
      ],
    });
    return {
      socket: local.socket,
      url,
      async close() {
        await Promise.all([local.close(), door?.close()]);
      },
    };
  } catch (error) {
    await door?.close();
    throw error;
  }
}
