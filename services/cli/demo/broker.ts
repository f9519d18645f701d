import { type NatsServer, startNatsServer } from "../../links/nats/server.ts";
import { findNatsServer } from "../../links/nats/server-binary.ts";
import { natsServerInstallCommand } from "../../links/nats/server-install.ts";

/** Why there is no broker, and the one command that helps here. */
export type Missing = { what: "nats-server"; reason: string; install: string };
export type Broker = { server: NatsServer; version: string };

/** A broker of the demo's own on loopback, or what keeps it from having one. Installs nothing (decision 47). */
export async function startBroker(dir: string): Promise<Broker | Missing> {
  try {
    const found = await findNatsServer();
    if (found === null) return missing("no nats-server was found: NATS_SERVER_BIN, the PATH and the caches have none");
    return { server: await startNatsServer({ bin: found.bin, dir }), version: found.version };
  } catch (error) {
    return missing(error instanceof Error ? error.message : String(error));
  }
}

const missing = (reason: string): Missing => ({ what: "nats-server", reason, install: natsServerInstallCommand() });
