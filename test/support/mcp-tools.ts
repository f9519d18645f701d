import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const declared = join(import.meta.dirname, "..", "fixtures", "mcp-tools");
const kept = join(import.meta.dirname, "..", "..", ".cache");

const programs = {
  conformance: "@modelcontextprotocol/conformance/dist/index.js",
  inspector: "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
} as const;
export type McpTool = keyof typeof programs;

/**
 * The script of a public tool that the MCP door is held against, at the versions of `test/fixtures/mcp-tools`. They are
 * installed apart from the project's own packages where they are missing, which needs the registry.
 */
export async function mcpTool(tool: McpTool): Promise<string> {
  return join(await installed(), "node_modules", programs[tool]);
}

async function installed(): Promise<string> {
  const lock = readFileSync(join(declared, "package-lock.json"));
  const folder = join(kept, `mcp-tools-${createHash("sha256").update(lock).digest("hex").slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  // Put in place when it is whole: an install that was cut short is not found later.
  const making = `${folder}-${process.pid}`;
  mkdirSync(making, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(declared, file), join(making, file));
  await promisify(execFile)("npm", ["ci", "--prefix", making, "--ignore-scripts", "--no-audit", "--no-fund"], { timeout: 300_000 });
  try {
    renameSync(making, folder);
  } catch {
    // Somebody else was faster.
    rmSync(making, { recursive: true, force: true });
  }
  return folder;
}

// Run as a script (before the tests that use them): installs them.
if (import.meta.main) console.log(await installed());
