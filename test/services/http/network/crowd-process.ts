import { connect, type Socket } from "node:net";

/** A process of connections that take and give nothing; `crowd-process.ts PORT`. Says how many are open after each change. */
const port = Number(process.argv[2]);
const sockets = new Set<Socket>();
let opened = 0;

const tell = () => process.connected && process.send?.({ opened, open: sockets.size });
const head = (line: string, ...more: string[]) => [`${line} HTTP/1.1`, "host: 127.0.0.1", ...more, "", ""].join("\r\n");

/** So many more, each of which says this at first, and then `more` three times a second. Resolves when all were accepted. */
async function come(count: number, first: string, how: { more?: string; reads?: boolean } = {}): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => one(first, how)));
}

function one(first: string, { more, reads = true }: { more?: string; reads?: boolean }): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    sockets.add(socket);
    const timer = more === undefined ? null : setInterval(() => socket.writable && socket.write(more), 300);
    socket.once("connect", () => {
      opened += 1;
      if (first.length > 0) socket.write(first);
      resolve();
    });
    socket.once("close", () => {
      sockets.delete(socket);
      if (timer !== null) clearInterval(timer);
      tell();
      resolve();
    });
    // Whoever does not read does not even hear that the other end has gone.
    if (reads) socket.resume();
    socket.on("error", () => socket.destroy());
  });
}

process.once("disconnect", () => process.exit(0));
await come(250, "");
await come(250, "GET /v1/threads HTTP/1.1\r\nhost: 127.0.0.1\r\nx-a: ", { more: "a" });
const form = ["content-type: application/x-www-form-urlencoded", "content-length: 1000"];
await come(250, `${head("POST /oauth/token", ...form)}a`, { more: "a" });
await come(150, head("POST /mcp", "content-type: application/json", "content-length: 60000000"), { more: "x".repeat(16_384) });
await come(100, `GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-long: ${"x".repeat(1_000_000)}\r\n\r\n`);
// Asks and asks, and never reads an answer.
await come(100, head("GET /.well-known/oauth-authorization-server").repeat(200), { reads: false });
tell();
