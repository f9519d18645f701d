import { expect, test } from "vitest";
import type { McpOffer } from "../../../services/mcp/offer.ts";
import { openDoor } from "../../support/door.ts";
import { OAuthProgram } from "../../support/oauth-program.ts";
import { clientCaller, startMcp } from "./rig.ts";

const inputSchema = { type: "object" as const };

/** A program's own tools: one that answers, one that breaks, and one with a name that the environment has already. */
const offer: McpOffer = {
  tools: [
    {
      listed: { name: "weigh_rope", description: "How heavy it is.", inputSchema },
      access: "writes",
      call: ({ fathoms }, { mcpReq }) => ({ content: [{ type: "text", text: `${Number(fathoms) * 2} lb (${mcpReq.method})` }] }),
    },
    {
      listed: { name: "cut_rope", description: "Breaks.", inputSchema },
      access: "reads",
      call() {
        throw new Error("the knife is in /home/me");
      },
    },
    { listed: { name: "t3_thread_list", description: "Another.", inputSchema }, access: "reads", call: () => ({ content: [] }) },
  ],
  readResource: (uri) => (uri === "rope://length" ? { contents: [{ uri, text: "40 fathoms" }] } : null),
};

test.each(["legacy", "modern"] as const)(
  "a program's own tools and resources stand beside the environment's, over the %s revision",
  async (era) => {
    const rig = await startMcp({ app: { offer } });
    const client = await rig.connect(rig.let(clientCaller()), { era });
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    expect(names.slice(-2)).toEqual(["weigh_rope", "cut_rope"]);
    expect(new Set(names).size).toBe(names.length);
    const weighed = await client.callTool({ name: "weigh_rope", arguments: { fathoms: 40 } });
    expect(weighed).toMatchObject({ content: [{ text: "80 lb (tools/call)" }] });
    expect((await client.readResource({ uri: "rope://length" })).contents).toMatchObject([{ text: "40 fathoms" }]);
    // Nobody takes the place of what the environment has.
    expect(await client.use("t3_thread_list")).toEqual({ threads: [], nextCursor: null });
    await expect(client.callTool({ name: "no_rope", arguments: {} })).rejects.toMatchObject({ code: -32602 });
  },
);

test("a caller needs the access that an offered tool declares, and what breaks in it is told to nobody but who listens", async () => {
  const rig = await startMcp({ app: { offer } });
  const reader = await rig.connect(rig.let(clientCaller({ access: ["reads"] })));
  expect(await reader.refused("weigh_rope", { fathoms: 1 })).toMatchObject({ code: "capability_denied", details: { needs: "writes" } });
  const broken = await reader.refused("cut_rope");
  expect(broken).toMatchObject({ code: "orchestration_error", reason: "internal" });
  expect(JSON.stringify(broken)).not.toContain("/home/me");
  expect(rig.errors).toMatchObject([{ message: "the knife is in /home/me" }]);
});

test("what is offered is served over the network as `serveEnvironment` is told", async () => {
  const { mcpUrl, pair } = await openDoor({}, { offer });
  const program = new OAuthProgram();
  await program.pair(mcpUrl, (await pair()).code);
  const answer = await fetch(mcpUrl, {
    method: "POST",
    headers: {
      authorization: `Bearer ${program.given?.access_token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "weigh_rope",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: "weigh_rope",
        arguments: { fathoms: 3 },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "by-hand", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
  });
  expect(await answer.text()).toContain("6 lb");
});
