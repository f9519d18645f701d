import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { failure } from "./failure.ts";

/** Where the binary was found (decision 43). */
export type FoundBinary = { path: string; from: "configuration" | "ROPEWALK_CODEX_BIN" | "package" | "PATH" };

export type BinarySearch = {
  /** `bin` of the instance's configuration. */
  bin?: string | undefined;
  env?: Record<string, string | undefined>;
  /** Folders whose `node_modules` (and those above) are looked through for the package; without: ours, and the working folder. */
  roots?: string[];
};

const installHint =
  "Install it with `npm install -g @openai/codex`, or name the native binary in the instance's `bin` or in ROPEWALK_CODEX_BIN.";
const windows = process.platform === "win32";
const fileName = windows ? "codex.exe" : "codex";

const triples: Record<string, string> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
  "win32-x64": "x86_64-pc-windows-msvc",
  "win32-arm64": "aarch64-pc-windows-msvc",
};

/**
 * Finds the native Codex binary: configuration, `ROPEWALK_CODEX_BIN`, the platform package, the PATH; the first that is named
 * counts, and one that is named but missing is told, not passed over. Never the package's JavaScript launcher: killed, it would
 * leave the native process behind.
 * @throws ProviderFailure `provider_unavailable`, reason `provider_not_installed`.
 */
export function findCodexBinary({ bin, env = process.env, roots = defaultRoots() }: BinarySearch = {}): FoundBinary {
  if (bin !== undefined) return { path: named(bin, "the instance's `bin`"), from: "configuration" };
  const fromEnv = env.ROPEWALK_CODEX_BIN;
  if (fromEnv) return { path: named(fromEnv, "ROPEWALK_CODEX_BIN"), from: "ROPEWALK_CODEX_BIN" };
  for (const root of roots) {
    const path = inPackages(root);
    if (path !== null) return { path, from: "package" };
  }
  const path = onPath(env.PATH ?? env.Path ?? "");
  if (path !== null) return { path, from: "PATH" };
  throw failure("provider_not_installed", "The Codex binary was not found.", installHint);
}

function named(path: string, where: string): string {
  if (!isFile(path)) throw failure("provider_not_installed", `There is no file ${path}, which ${where} names.`, installHint);
  const native = nativeOf(path);
  if (native === null) {
    throw failure("provider_not_installed", `${path}, which ${where} names, is the JavaScript launcher of Codex.`, installHint);
  }
  return native;
}

function onPath(path: string): string | null {
  for (const folder of path.split(delimiter)) {
    const candidate = folder === "" ? null : join(folder, fileName);
    const native = candidate !== null && isFile(candidate) ? nativeOf(candidate) : null;
    if (native !== null) return native;
  }
  return null;
}

/** The binary itself; for the package's launcher the binary that it would start, or null where that is not installed. */
function nativeOf(path: string): string | null {
  const real = realpathSync(path);
  if (!isLauncher(real)) return path;
  return inPackages(dirname(real));
}

function isLauncher(path: string): boolean {
  if (/\.(c|m)?js$/.test(path)) return true;
  const start = Buffer.alloc(64);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, start, 0, start.length, 0);
    return /^#!.*\bnode\b/.test(start.toString("latin1", 0, length));
  } finally {
    closeSync(file);
  }
}

/** The platform package, as seen from `root` or from the main package that is seen from there. */
function inPackages(root: string): string | null {
  const platform = `${process.platform === "android" ? "linux" : process.platform}-${process.arch}`;
  const triple = triples[platform];
  if (triple === undefined) return null;
  const main = packageFolder(root, "@openai/codex");
  for (const from of main === null ? [root] : [main, root]) {
    const folder = packageFolder(from, `@openai/codex-${platform}`);
    const path = folder === null ? null : join(folder, "vendor", triple, "bin", fileName);
    if (path !== null && isFile(path)) return path;
  }
  return null;
}

function packageFolder(root: string, name: string): string | null {
  try {
    // The file need not exist: only the folders above it are looked through.
    return dirname(createRequire(pathToFileURL(join(root, "from-here.js"))).resolve(`${name}/package.json`));
  } catch {
    return null;
  }
}

/** Our own installation, the folder that we run in, and what is installed globally beside this Node. */
function defaultRoots(): string[] {
  const global = windows ? dirname(process.execPath) : join(dirname(process.execPath), "..", "lib");
  return [import.meta.dirname, process.cwd(), global];
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}
