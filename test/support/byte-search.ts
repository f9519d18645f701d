import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";

/** How a text may stand in bytes: as it is, and escaped as JSON once and twice. */
function formsOf(text: string): Buffer[] {
  const once = JSON.stringify(text).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  return [...new Set([text, once, twice, encodeURIComponent(text)])].map((form) => Buffer.from(form));
}

/** Every file below a folder whose bytes hold the text, links and names too; folders of git objects inflated. */
export function filesWith(folder: string, text: string): string[] {
  const forms = formsOf(text);
  const has = (bytes: Buffer) => forms.some((form) => bytes.includes(form));
  const found: string[] = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (has(Buffer.from(entry.name))) found.push(`${path} (name)`);
    if (!entry.isFile() || lstatSync(path).size === 0) continue;
    const bytes = readFileSync(path);
    if (has(bytes) || has(inflated(bytes))) found.push(path);
  }
  return found;
}

/** What of zlib is in a file: a loose object is one stream, a pack has many. */
function inflated(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  if (bytes[0] === 0x78) parts.push(tried(bytes));
  if (bytes.toString("latin1", 0, 4) === "PACK")
    for (let at = bytes.indexOf(0x78); at !== -1; at = bytes.indexOf(0x78, at + 1))
      if (((bytes[at] as number) * 256 + (bytes[at + 1] ?? 0)) % 31 === 0) parts.push(tried(bytes.subarray(at)));
  return Buffer.concat(parts);
}

function tried(bytes: Buffer): Buffer {
  try {
    // A stream in a pack is followed by others.
    return inflateSync(bytes, { finishFlush: 2 });
  } catch {
    return Buffer.alloc(0);
  }
}

/** Every object of a repository that holds the text, whether anything leads to it or not. */
export function objectsWith(repository: string, text: string): string[] {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: repository, maxBuffer: 1 << 30 });
  const ids = git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").toString().trim().split("\n");
  const forms = formsOf(text);
  return ids.filter((line) => {
    const [id = "", type = ""] = line.split(" ");
    const bytes = id === "" ? Buffer.alloc(0) : git("cat-file", type, id);
    return forms.some((form) => bytes.includes(form));
  });
}
