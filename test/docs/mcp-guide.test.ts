import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { listing, tools } from "../../services/mcp/catalogue.ts";
import { templates } from "../../services/mcp/uris.ts";
import { maxWaitSeconds } from "../../services/mcp/wait.ts";

const guide = readFileSync(new URL("../../docs/guide/mcp.md", import.meta.url), "utf8");

test("every block of settings is JSON, and starts the tools or names their address", () => {
  const blocks = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = ""]) => JSON.parse(text));
  const servers = blocks.map((block) => (block.mcpServers ?? block.servers).ropewalk);
  expect(servers.filter(({ command, args }) => command === "ropewalk" && args?.join() === "mcp")).toHaveLength(2);
  expect(servers.filter(({ url }) => url === "http://127.0.0.1:23456/mcp")).toHaveLength(2);
  expect(servers).toHaveLength(4);
});

test("the guide counts the tools as they are, and names only tools, resources and bounds that there are", () => {
  const numbers = { sixteen: listing("full").length, eight: listing("small").length };
  expect(numbers).toEqual({ sixteen: 16, eight: 8 });
  for (const word of Object.keys(numbers)) expect(guide).toContain(word);
  const named = [...guide.matchAll(/`((?:t3|task|delegate|orchestrator)_\w+)`/g)].map(([, name]) => name);
  const known = tools.map(({ name }) => name);
  expect(named.filter((name) => !known.includes(name ?? ""))).toEqual([]);
  expect(named.length).toBeGreaterThan(0);
  const addresses = [...guide.matchAll(/`(ropewalk:\/\/[^`]+)`/g)].map(([, address = ""]) =>
    address.replaceAll("<", "{").replaceAll(">", "}"),
  );
  expect(addresses.filter((address) => !Object.values<string>(templates).includes(address))).toEqual([]);
  expect(guide).toContain(`${maxWaitSeconds} seconds at most`);
});
