import { Client } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { openDoor } from "../../support/door.ts";
import { OAuthProgram } from "../../support/oauth-program.ts";

test("a program that knows the address alone registers, asks, is let in by a code, calls a tool, and is out when it is revoked", async () => {
  const { mcpUrl, pair, served, env } = await openDoor();
  const { code } = await pair({ name: "my laptop's agent" });
  const program = new OAuthProgram({ name: "Ferry" });
  const token = await program.pair(mcpUrl, code);
  expect(token).toMatch(/^rwc_/);
  const client = new Client({ name: "ferry", version: "1" });
  await client.connect(program.transport(mcpUrl));
  const listed = await client.callTool({ name: "t3_thread_list", arguments: {} });
  expect(listed.isError ?? false).toBe(false);
  await client.close();
  expect(served.url).not.toBeNull();
  expect(env.id).toMatch(/^env:/);
});
