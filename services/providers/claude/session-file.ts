import { createReadStream, existsSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import type { Block } from "./protocol.ts";

type Entry = {
  type?: string;
  uuid?: string;
  parentUuid?: string | null;
  isSidechain?: boolean;
  /** Not a person's words, but the program's. */
  isMeta?: boolean;
  message?: { content?: string | Block[] };
};

/** The file of a session, whatever folder it was begun in; null where there is none. */
export function sessionFile(configDir: string, sessionId: string): string | null {
  return (
    folders(configDir)
      .map((folder) => join(folder, `${sessionId}.jsonl`))
      .find((path) => existsSync(path)) ?? null
  );
}

/** Files of all sessions that were written to at or after `since` (milliseconds), newest first. */
export function sessionFilesSince(configDir: string, since: number): { id: string; path: string }[] {
  return folders(configDir)
    .flatMap((folder) =>
      names(folder)
        .filter((name) => name.endsWith(".jsonl"))
        .map((name) => join(folder, name)),
    )
    .map((path) => ({ path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .filter(({ at }) => at >= since)
    .sort((a, b) => b.at - a.at)
    .map(({ path }) => ({ path, id: basename(path, ".jsonl") }));
}

/** Whether a session has the entry. */
export async function hasEntry(path: string, uuid: string): Promise<boolean> {
  for await (const entry of entries(path, uuid)) if (entry.uuid === uuid) return true;
  return false;
}

/** The turn that an input began: its last entry, as far as it was written down. Null: the session does not have the input. */
export async function turnOf(path: string, inputId: string): Promise<{ last: string } | null> {
  let last: string | null = null;
  for await (const entry of entries(path)) {
    if (entry.uuid === undefined || entry.isSidechain === true || (entry.type !== "user" && entry.type !== "assistant")) continue;
    if (entry.uuid === inputId) last = entry.uuid;
    else if (last !== null && isInput(entry)) break;
    else if (last !== null) last = entry.uuid;
  }
  return last === null ? null : { last };
}

/** The entries that the session goes on from, oldest first: what was branched off, taken back or compacted away is not among them. */
export async function activeBranch(path: string): Promise<Entry[]> {
  const known = new Map<string, Entry>();
  let leaf: Entry | undefined;
  for await (const entry of entries(path)) {
    if (entry.uuid === undefined || entry.isSidechain === true) continue;
    known.set(entry.uuid, entry);
    if (entry.type === "user" || entry.type === "assistant") leaf = entry;
  }
  const branch: Entry[] = [];
  // No entry is its own ancestor; a file that says so ends here all the same.
  for (let at = leaf; at !== undefined && branch.length < known.size; at = known.get(at.parentUuid ?? "")) branch.push(at);
  return branch.reverse();
}

/** Whether an entry began a turn. */
export function isInput(entry: Entry): boolean {
  return entry.type === "user" && entry.isMeta !== true && !isWithinTurn(entry);
}

/** A result of a tool, or Claude's own note that it was interrupted: no new input. */
function isWithinTurn({ message }: Entry): boolean {
  const blocks = Array.isArray(message?.content) ? message.content : [];
  return blocks.some(({ type, text }) => type === "tool_result" || text?.startsWith("[Request interrupted by user") === true);
}

async function* entries(path: string, containing = ""): AsyncGenerator<Entry> {
  const lines = createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Number.POSITIVE_INFINITY });
  try {
    for await (const line of lines) {
      if (!line.includes('"uuid"') || !line.includes(containing)) continue;
      const entry = parse(line);
      if (entry !== null) yield entry;
    }
  } finally {
    lines.close();
  }
}

/** A line that is still being written is no entry yet. */
function parse(line: string): Entry | null {
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return null;
  }
}

function folders(configDir: string): string[] {
  const projects = join(configDir, "projects");
  return names(projects).map((name) => join(projects, name));
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
