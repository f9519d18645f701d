import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/**
 * A server on loopback that adds a token to what it passes on, for programs that cannot send one. Everything else goes
 * through as it came, `Host` and `Origin` too. Returns its port.
 */
export async function bearerRelay(to: URL, token: string): Promise<number> {
  const server = createServer((incoming, answer) => {
    const onward = request(
      // A connection for each: one that is kept may be closed by the other end just when it is used again.
      { host: to.hostname, port: to.port, method: incoming.method, path: incoming.url, setHost: false, agent: false },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        answer.flushHeaders();
        response.pipe(answer);
      },
    );
    for (const [name, value] of Object.entries(incoming.headers)) if (value !== undefined) onward.setHeader(name, value);
    onward.setHeader("authorization", `Bearer ${token}`);
    onward.on("error", () => answer.destroy());
    // Who asked is gone: the one behind is to know.
    answer.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
