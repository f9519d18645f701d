import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { HttpConfig } from "../../../schemas/config.ts";
import { refusal } from "../../../schemas/refusal.ts";
import { CommandRefused } from "../../runtime/environment-api.ts";
import { problemResponse } from "../problem.ts";
import { addressOf } from "./address.ts";
import { Connections } from "./connections.ts";
import { guard } from "./guard.ts";
import { bracketed, isEvery } from "./hosts.ts";
import { networkLimits } from "./limits.ts";
import { anyPort, keepPort, keptPort } from "./port.ts";
import { type NetworkSettings, networkSettings } from "./settings.ts";

/** A request, and what the listener knows of it. */
export type NetworkRequest = {
  request: Request;
  /** Scheme, host and port by which this environment was called; the host is one of its own names. */
  origin: string;
  /** Who is counted for what is bounded by address. */
  address: string;
  outgoing: ServerResponse;
  /** Says that the request has shown a token that is good: its connection is not one of those that only hold on. */
  isKnown(): void;
};

export type NetworkOptions = {
  config: HttpConfig;
  /** The environment's folder, where the port is kept. */
  dir: string;
  answer(request: NetworkRequest): Response | Promise<Response>;
  warn(facts: object, text: string): void;
};

export type NetworkServer = {
  /** Scheme, host and port that programs are told. */
  readonly url: string;
  /** The same as this machine itself reaches it. */
  readonly localUrl: string;
  readonly isTls: boolean;
  /** Takes no new connection, lets what is being answered end for a moment, then closes all that is left. */
  close(): Promise<void>;
};

/** Listens on the network as the configuration says. Throws CommandRefused where that would be unsafe, or cannot be. */
export async function serveNetwork({ config, dir, answer, warn }: NetworkOptions): Promise<NetworkServer> {
  const settings = networkSettings(config, dir);
  const server = makeServer(settings);
  const connections = new Connections(server, networkLimits.connections);
  const ahead = new WeakMap<object, number>();
  server.on("request", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming;
    const before = ahead.get(socket) ?? 0;
    // A piece that held many requests still gives them out after the connection is gone.
    if (socket.destroyed) return;
    if (before >= networkLimits.requestsAhead) return void socket.destroy();
    ahead.set(socket, before + 1);
    const late = setTimeout(() => socket.destroy(), networkLimits.strangerMs);
    outgoing.once("close", () => {
      clearTimeout(late);
      ahead.set(socket, (ahead.get(socket) ?? 1) - 1);
    });
    const isKnown = () => {
      clearTimeout(late);
      connections.known(incoming);
    };
    const guarded = guard(incoming, settings);
    const answered = async (request: Request): Promise<Response> => {
      if (!guarded.ok) return problemResponse(guarded.refusal);
      return answer({ request, origin: guarded.origin, address: addressOf(incoming, settings.publicOrigin !== null), outgoing, isKnown });
    };
    void getRequestListener(answered, { overrideGlobalObjects: false })(incoming, outgoing);
  });
  await listen(server, settings, dir, warn);
  const { port } = server.address() as AddressInfo;
  const scheme = settings.tls === null ? "http" : "https";
  const localUrl = `${scheme}://${isEvery(settings.host) ? "127.0.0.1" : bracketed(settings.host)}:${port}`;
  return {
    url: settings.publicOrigin?.origin ?? localUrl,
    localUrl,
    isTls: settings.tls !== null,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const hurry = setTimeout(() => connections.destroyAll(), networkLimits.closeGraceMs);
      await closed;
      clearTimeout(hurry);
    },
  };
}

function makeServer({ tls }: NetworkSettings): Server {
  const options = {
    headersTimeout: networkLimits.headersMs,
    requestTimeout: networkLimits.requestMs,
    keepAliveTimeout: networkLimits.keepAliveMs,
    connectionsCheckingInterval: networkLimits.checkMs,
    maxHeaderSize: networkLimits.headerBytes,
    keepAlive: true,
    keepAliveInitialDelay: networkLimits.probeMs,
  };
  const server =
    tls === null ? createServer(options) : createTlsServer({ ...options, ...tls, handshakeTimeout: networkLimits.handshakeMs });
  server.maxHeadersCount = networkLimits.headers;
  return server;
}

/** Tries of one port after the other, when none is named and none is kept. */
const tries = 20;

async function listen(server: Server, { host, port }: NetworkSettings, dir: string, warn: NetworkOptions["warn"]): Promise<void> {
  if (port !== null) return listenOn(server, host, port);
  const kept = keptPort(dir);
  for (let n = 0; n < tries; n += 1) {
    const wished = n === 0 && kept !== null ? kept : anyPort();
    try {
      await listenOn(server, host, wished);
      if (kept === null) keepPort(dir, wished);
      else if (wished !== kept)
        // What programs were told stays kept: whoever has it now may be gone at the next start.
        warn(
          { kept, port: wished },
          `port ${kept}, which programs were told, is taken by another process: listening on ${wished} this time`,
        );
      return;
    } catch (error) {
      if (!(error instanceof CommandRefused) || error.refusal.reason !== "address_taken") throw error;
    }
  }
  return listenOn(server, host, 0);
}

function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      server.off("listening", listening);
      reject(cannotListen(error, host, port));
    };
    const listening = () => {
      server.off("error", failed);
      resolve();
    };
    server.once("error", failed).once("listening", listening);
    server.listen({ host, port, backlog: 1_024 });
  });
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): CommandRefused {
  const isTaken = error.code === "EADDRINUSE";
  const reason = isTaken ? "address_taken" : "cannot_listen";
  const message = isTaken
    ? `another process listens on ${bracketed(host)}:${port}`
    : `cannot listen on ${bracketed(host)}:${port}: ${error.message}`;
  const hint = isTaken
    ? "End that process, or choose another port (http.port, or --listen HOST:PORT)."
    : "Choose another address (http.host, or --listen HOST:PORT).";
  return new CommandRefused(refusal("orchestration_error", reason, message, hint, { host, port }));
}
