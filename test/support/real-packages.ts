import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** Where real agents' packages are kept (decision 43); not part of the repository. */
const realFolder = join(import.meta.dirname, "..", "..", ".cache", "real");

/**
 * The agents that real tests drive, each pinned to the version that it was measured with. The old ones write their sessions in
 * another form.
 */
export const realPackages = {
  codex: { name: "@openai/codex", version: "0.171.0" },
  claude: {
    name: "@anthropic-ai/claude-agent-sdk",
    version: "0.3.332",
    integrity: "sha512-N0ejnrTLMNJYXkvhdmLEy8QSfjym2ljJCkUBCrLKesYNGgqooi8zHDHawNsi+An6zav/ImPnpi27sbRsRjfcOw==",
  },
  "codex-old": { name: "@openai/codex", version: "0.60.1" },
  "claude-code": { name: "@anthropic-ai/claude-code", version: "2.1.332" },
  "claude-code-old": { name: "@anthropic-ai/claude-code", version: "1.0.128" },
} as const;
export type RealAgent = keyof typeof realPackages;

/** The folder whose `node_modules` holds the agent's package; installed where it is missing, which needs the registry. */
export async function realPackage(agent: RealAgent): Promise<string> {
  return installed(agent, realPackages[agent]);
}

type Package = { name: string; version: string; integrity?: string };

/** The same for any package and version; `agent` names its folder. With `integrity`, what came is refused unless it has that digest. */
export async function installed(agent: string, { name, version, integrity }: Package): Promise<string> {
  const folder = join(realFolder, `${agent}-${version}`);
  if (existsSync(join(folder, "node_modules", name, "package.json"))) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private":true}\n');
  const options = ["--no-fund", "--no-audit", "--omit-lockfile-registry-resolved", "--ignore-scripts"];
  await promisify(execFile)("npm", ["install", "--prefix", folder, ...options, `${name}@${version}`], { timeout: 300_000 });
  const came = integrityOf(folder, name);
  if (integrity !== undefined && came !== integrity) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`${name}@${version} came as ${came}, not as ${integrity}`);
  }
  return folder;
}

function integrityOf(folder: string, name: string): string | undefined {
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as { packages: Record<string, { integrity?: string }> };
  return lock.packages[`node_modules/${name}`]?.integrity;
}

// Run as a script (before the real tests, while the network can still be reached): installs them all.
if (import.meta.main) {
  for (const agent of Object.keys(realPackages) as RealAgent[]) console.log(await realPackage(agent));
}
