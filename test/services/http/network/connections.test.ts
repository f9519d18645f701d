import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Connections } from "../../../../services/http/network/connections.ts";
import { until } from "../../../support/until.ts";

/** A server with room for so many; what asks for `/known` has shown a token, `/stream` too and is never answered in full. */
async function serverFor(most: number) {
  const server = createServer((incoming: IncomingMessage, outgoing) => {
    if (incoming.url !== "/") connections.known(incoming);
    if (incoming.url === "/stream") outgoing.write("begun");
    else outgoing.end("done");
  });
  const connections = new Connections(server, most);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    connections.destroyAll();
    server.close();
  });
  const clients: Client[] = [];
  onTestFinished(() => {
    for (const { socket } of clients) socket.destroy();
  });
  /** One more connection; with a path it asks, and has its answer. */
  async function come(path?: string): Promise<Client> {
    const client: Client = { socket: connect({ host: "127.0.0.1", port }), isOpen: true, heard: "" };
    clients.push(client);
    client.socket.setEncoding("utf8");
    client.socket.on("data", (text) => {
      client.heard += text;
    });
    client.socket.on("error", () => {});
    client.socket.once("close", () => {
      client.isOpen = false;
    });
    await new Promise((resolve) => client.socket.once("connect", resolve));
    if (path === undefined) return client;
    client.socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await until(`${path} is answered`, () => /done|begun/.test(client.heard) || !client.isOpen);
    return client;
  }
  return { connections, come };
}
type Client = { socket: Socket; isOpen: boolean; heard: string };

test("when there is no room the stranger goes that has been there longest, and whoever comes is served", async () => {
  const { connections, come } = await serverFor(4);
  const known = await come("/known");
  const idle = [await come(), await come(), await come()];
  await until("all are counted", () => connections.size === 4);
  for (const left of [2, 1, 0]) {
    const next = await come("/");
    expect(next.heard).toContain("done");
    await until("the oldest has gone", () => idle.filter(({ isOpen }) => isOpen).length === left);
    expect(idle.map(({ isOpen }) => isOpen)).toEqual([0, 1, 2].map((n) => n >= 3 - left));
  }
  expect(known.isOpen).toBe(true);
  expect(connections.size).toBeLessThanOrEqual(4);
});

test("when all have shown a token those go that nothing is under way on; a stream stays", async () => {
  const { come } = await serverFor(3);
  const [stream, quiet, other] = [await come("/stream"), await come("/known"), await come("/known")];
  const next = await come("/known");
  expect(next.heard).toContain("done");
  await until("the quiet ones have gone", () => !quiet.isOpen && !other.isOpen);
  expect([stream.isOpen, next.isOpen]).toEqual([true, true]);
});

test("a crowd of any size leaves no more than there is room for, and forgets those that go", async () => {
  const { connections, come } = await serverFor(10);
  const crowd = await Promise.all(Array.from({ length: 60 }, () => come()));
  await until("there is room", () => crowd.filter(({ isOpen }) => isOpen).length <= 10);
  for (const { socket } of crowd) socket.destroy();
  await until("all are forgotten", () => connections.size === 0);
});
