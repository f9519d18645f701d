import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import type { IncomingMessage, Server } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { createAdaptorServer } from "@hono/node-server";
import type { Environment } from "../runtime/environment-api.ts";
import { createHttpApp, type HttpAppOptions } from "./app.ts";
import { type SocketPlace, socketPlace } from "./socket-path.ts";

export type LocalServer = {
  /** The unix socket that it listens on. */
  readonly socket: string;
  /** Takes no new request, ends open feeds, lets the rest answer for a moment, then closes what is left. */
  close(): Promise<void>;
};

export type LocalServerOptions = Omit<HttpAppOptions, "signal"> & {
  /** Takes a connection that is to become something else; without it such a request is answered as any other. */
  onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
};

const closeGraceMs = 2_000;

/**
 * Serves an environment to this machine's user: HTTP over a unix socket in the environment's folder, mode 0600. The caller
 * holds the folder (it has the environment), so a socket that is there already is a dead process's.
 */
export async function serveLocal(environment: Environment, options: LocalServerOptions = {}): Promise<LocalServer> {
  const place = socketPlace(environment.dir);
  await clear(place);
  const ending = new AbortController();
  const app = createHttpApp(environment, { ...options, signal: ending.signal });
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server;
  const upgraded = options.onUpgrade === undefined ? new Set<Duplex>() : takeUpgrades(server, options.onUpgrade);
  await listen(server, place.path);
  if (place.link !== null) symlinkSync(place.path, place.link);
  return {
    socket: place.path,
    async close() {
      ending.abort();
      for (const socket of upgraded) socket.destroy();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const hurry = setTimeout(() => server.closeAllConnections(), closeGraceMs);
      await closed;
      clearTimeout(hurry);
      if (place.link !== null) rmSync(place.link, { force: true });
    },
  };
}

/** Connections that became something else are no longer the server's to close. */
function takeUpgrades(server: Server, onUpgrade: NonNullable<LocalServerOptions["onUpgrade"]>): Set<Duplex> {
  const upgraded = new Set<Duplex>();
  server.on("upgrade", (request, socket, head) => {
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    onUpgrade(request, socket, head);
  });
  return upgraded;
}

/** Takes away what a process that died has left. Anything else in that place stays, and is told. */
async function clear(place: SocketPlace): Promise<void> {
  if (place.makeFolder !== null) makePrivate(place.makeFolder);
  const link = place.link === null ? null : lstatSync(place.link, { throwIfNoEntry: false });
  if (place.link !== null && link != null) {
    if (!link.isSymbolicLink() && !link.isSocket()) throw new Error(`${place.link} is in the way: it is no socket`);
    rmSync(place.link);
  }
  const old = lstatSync(place.path, { throwIfNoEntry: false });
  if (old === undefined) return;
  // A link is what a longer path of this folder had before; only the link goes.
  if (!old.isSocket() && !old.isSymbolicLink()) throw new Error(`${place.path} is in the way: it is no socket`);
  if (old.isSocket() && (await answers(place.path))) throw new Error(`another process listens on ${place.path}`);
  rmSync(place.path);
}

/** The folder for sockets in a place that all may write to: ours alone, or not used. */
function makePrivate(folder: string): void {
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(folder);
  const mine = lstatSync(folder).isDirectory() && (process.getuid === undefined || uid === process.getuid()) && (mode & 0o077) === 0;
  if (!mine) throw new Error(`${folder} is not a private folder of this user; set XDG_RUNTIME_DIR or use a folder with a shorter path`);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path, timeout: 1_000 });
    const say = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", say(true)).once("error", say(false)).once("timeout", say(true));
  });
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    // The socket is made during the call; with this mask nobody else can reach it, not even for a moment.
    const mask = process.umask(0o177);
    try {
      server.listen({ path }, () => {
        server.off("error", reject);
        chmodSync(path, 0o600);
        resolve();
      });
    } finally {
      process.umask(mask);
    }
  });
}
