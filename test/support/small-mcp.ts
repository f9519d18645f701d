import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A tool server over HTTP with one tool, `echo`, and what it was called with. */
export async function smallMcpServer() {
  const tokens: (string | undefined)[] = [];
  const echoed: unknown[] = [];
  const answer = (method: string, params: { name?: string; arguments?: { text?: string }; protocolVersion?: string }) => {
    switch (method) {
      case "initialize":
        return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "small", version: "1" } };
      case "tools/list":
        return {
          tools: [
            { name: "echo", description: "Says it again.", inputSchema: { type: "object", properties: { text: { type: "string" } } } },
          ],
        };
      case "tools/call":
        echoed.push(params.arguments);
        return { content: [{ type: "text", text: `echo: ${params.arguments?.text}` }] };
      default:
        return {};
    }
  };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    tokens.push(request.headers.authorization);
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params = {} } = JSON.parse(text) as { id?: number; method: string; params?: object };
    if (id === undefined) return void response.writeHead(202).end();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: answer(method, params) }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    tokens,
    echoed,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
