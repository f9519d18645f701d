import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";

/**
 * The open connections of a server, bounded: when one more comes than there is room for, the one goes that has shown no
 * token for longest, and when all have, those go that nothing is under way on. So nobody who works is shut out by those who
 * only hold on.
 */
export class Connections {
  readonly #server: Server;
  readonly #most: number;
  /** In the order of their coming. */
  readonly #strangers = new Map<string, Socket>();
  readonly #known = new Map<string, Socket>();

  constructor(server: Server, most: number) {
    this.#server = server;
    this.#most = most;
    // On a server with TLS this is the connection below it: before a handshake, which may never come.
    server.on("connection", (socket: Socket) => this.#add(socket));
  }

  get size(): number {
    return this.#strangers.size + this.#known.size;
  }

  /** A request on this connection has shown a token that is good. */
  known({ socket }: IncomingMessage): void {
    const key = keyOf(socket);
    const own = this.#strangers.get(key);
    if (own === undefined) return;
    this.#strangers.delete(key);
    this.#known.set(key, own);
  }

  destroyAll(): void {
    for (const socket of [...this.#strangers.values(), ...this.#known.values()]) socket.destroy();
  }

  #add(socket: Socket): void {
    const key = keyOf(socket);
    this.#strangers.set(key, socket);
    socket.once("close", () => {
      if (this.#strangers.get(key) === socket) this.#strangers.delete(key);
      if (this.#known.get(key) === socket) this.#known.delete(key);
    });
    if (this.size <= this.#most) return;
    const [oldest] = this.#strangers;
    if (oldest === undefined || oldest[1] === socket) {
      this.#server.closeIdleConnections();
      return;
    }
    this.#strangers.delete(oldest[0]);
    oldest[1].destroy();
  }
}

/** The same for a connection and for the TLS on top of it. */
const keyOf = (socket: Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">): string =>
  `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress} ${socket.localPort}`;
