import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { failure } from "./failure.ts";
import type { Frame, UserMessage } from "./protocol.ts";

const name = "@anthropic-ai/claude-agent-sdk";
/** The version that this adapter was measured with; the first that it takes. Below 1.0 a minor version may change anything. */
const measured = [0, 3, 332] as const;

/** The SDK's `query`, as far as it is used. */
type Query = AsyncIterable<Frame> & {
  initializationResult(): Promise<unknown>;
  interrupt(): Promise<unknown>;
};
export type ClaudeSdk = { query(params: { prompt: AsyncIterable<UserMessage>; options: Record<string, unknown> }): Query };

export type SdkSearch = {
  /** A folder whose `node_modules` (or those above) holds the SDK; without: our own installation, then what is installed globally. */
  folder?: string | undefined;
  roots?: string[];
};

/**
 * Loads the SDK, which is an optional peer of ours: it brings a program of 400 MB.
 * @throws ProviderFailure `provider_unavailable`, reason `provider_not_installed` or `provider_version`.
 */
export async function loadSdk({ folder, roots = defaultRoots() }: SdkSearch = {}): Promise<ClaudeSdk> {
  const path = findSdk(folder === undefined ? roots : [folder]);
  if (path === null) {
    const where = folder === undefined ? "" : ` below ${folder}, which the instance's \`sdk\` names`;
    throw failure("provider_not_installed", `The Claude Agent SDK (${name}) is not installed${where}.`, `Install it: ${installCommand()}`);
  }
  requireVersion(path);
  return (await import(pathToFileURL(path).href)) as ClaudeSdk;
}

/** Whether the SDK can be found at all, without loading it. */
export function isSdkInstalled(roots = defaultRoots()): boolean {
  return findSdk(roots) !== null;
}

/** What installs the SDK where this installation of ropewalk finds it. */
export function installCommand(ours = import.meta.dirname): string {
  const wanted = `${name}@${measured.join(".")}`;
  const at = ours.lastIndexOf(`${sep}node_modules${sep}`);
  if (at === -1) return `npm install --no-save --prefix "${cloneOf(ours)}" ${wanted}`;
  const folder = ours.slice(0, at);
  return folder.endsWith(`${sep}lib`) ? `npm install -g ${wanted}` : `npm install --prefix "${folder}" ${wanted}`;
}

function cloneOf(folder: string): string {
  let at = folder;
  while (!existsSync(join(at, "package.json")) && dirname(at) !== at) at = dirname(at);
  return at;
}

function findSdk(roots: string[]): string | null {
  for (const root of roots) {
    try {
      return createRequire(pathToFileURL(join(root, "from-here.js"))).resolve(name);
    } catch {
      // Not seen from there.
    }
  }
  return null;
}

/** Never the folder that we were started in: code of a project is not to run in here. */
function defaultRoots(): string[] {
  const global = process.platform === "win32" ? dirname(process.execPath) : join(dirname(process.execPath), "..", "lib");
  return [import.meta.dirname, global];
}

function requireVersion(path: string): void {
  const { version = "" } = JSON.parse(readFileSync(join(dirname(path), "package.json"), "utf8")) as { version?: string };
  const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  if (major === measured[0] && minor === measured[1] && patch >= measured[2]) return;
  throw failure(
    "provider_version",
    `The Claude Agent SDK ${version} is installed; ${measured.join(".")} or a later ${measured[0]}.${measured[1]} is needed.`,
    `Install it: ${installCommand()}`,
  );
}

/**
 * The program that is named instead of the SDK's own: configuration, then `ROPEWALK_CLAUDE_BIN`.
 * @throws ProviderFailure `provider_unavailable`, reason `provider_not_installed`.
 */
export function namedBinary(bin: string | undefined, env: Record<string, string | undefined> = process.env): string | undefined {
  const path = bin ?? (env.ROPEWALK_CLAUDE_BIN || undefined);
  if (path === undefined || statSync(path, { throwIfNoEntry: false })?.isFile()) return path;
  const where = bin === undefined ? "ROPEWALK_CLAUDE_BIN" : "the instance's `bin`";
  throw failure(
    "provider_not_installed",
    `There is no file ${path}, which ${where} names.`,
    `Name the native binary of Claude Code, or leave it out and install the SDK, which brings its own: ${installCommand()}`,
  );
}
