import { lstat, open, readdir, readlink, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Needle, purgedMark } from "../runtime/redaction/needle.ts";

/**
 * A process of its own that looks through files: a store's file must not be opened and closed beside its connection, which
 * would free its locks. What is asked comes on standard input, so that the text is on no command line.
 */
export type FileQuestion = {
  text: string;
  /** Files and folders to look through. */
  roots: string[];
  /** Below these, what is found is overwritten in place by as many bytes. */
  rewrite: string[];
  /** Left out. */
  skip: string[];
};
export type FileFinding = { path: string; count: number; isRewritten: boolean; where: "content" | "name" | "link" };
export type FileAnswer = { found: FileFinding[]; unreadable: string[] };

const chunkBytes = 4 * 1024 * 1024;

async function search(question: FileQuestion): Promise<FileAnswer> {
  const needle = new Needle(question.text);
  const answer: FileAnswer = { found: [], unreadable: [] };
  const mayRewrite = (path: string) => question.rewrite.some((root) => path === root || path.startsWith(`${root}/`));
  const named: string[] = [];
  const left = [...question.roots];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (question.skip.includes(path)) continue;
    try {
      const found = await lstat(path);
      if (needle.isIn(basename(path))) named.push(path);
      if (found.isDirectory()) left.push(...(await readdir(path)).map((name) => join(path as string, name)));
      else if (found.isSymbolicLink()) {
        if (needle.isIn(await readlink(path))) answer.found.push({ path, count: 1, isRewritten: false, where: "link" });
      } else if (found.isFile()) {
        const count = await inFile(path, needle, mayRewrite(path), found.nlink > 1);
        if (count.found > 0) answer.found.push({ path, count: count.found, isRewritten: count.isRewritten, where: "content" });
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") answer.unreadable.push(path);
    }
  }
  // The deepest first, so that those above are still where they were.
  for (const path of named.sort((a, b) => b.length - a.length)) {
    const isRewritten = mayRewrite(path) && !question.rewrite.includes(path);
    if (isRewritten) await rename(path, join(dirname(path), needle.replaceIn(basename(path)).replaceAll("/", "_")));
    answer.found.push({ path, count: 1, isRewritten, where: "name" });
  }
  return answer;
}

async function inFile(
  path: string,
  needle: Needle,
  mayRewrite: boolean,
  isShared: boolean,
): Promise<{ found: number; isRewritten: boolean }> {
  const places: { at: number; length: number }[] = [];
  const longest = Math.max(...needle.bytes.map((form) => form.length));
  const isJson = /\.(json|jsonl|log(\.\d+)?)$/.test(path);
  const file = await open(path, "r");
  let isDatabase = false;
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, chunkBytes) + longest);
    for (let from = 0; from < size; from += chunkBytes) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, size - from), from);
      const chunk = buffer.subarray(0, bytesRead);
      if (from === 0) isDatabase = chunk.subarray(0, 15).toString("latin1") === "SQLite format 3";
      for (const form of needle.bytes)
        for (let at = chunk.indexOf(form); at !== -1; at = chunk.indexOf(form, at + form.length)) {
          if (isJson && isEscape(chunk, at)) continue;
          const place = { at: from + at, length: form.length };
          if (!places.some((other) => other.at <= place.at && place.at < other.at + other.length)) places.push(place);
        }
    }
  } finally {
    await file.close();
  }
  const isRewritten = places.length > 0 && mayRewrite && !isDatabase;
  if (isRewritten) await overwrite(path, places, isShared);
  return { found: places.length, isRewritten };
}

/** In JSON, what begins behind an odd number of backslashes is the second half of an escape, and another text. */
function isEscape(chunk: Buffer, at: number): boolean {
  let slashes = 0;
  while (at - slashes > 0 && chunk[at - slashes - 1] === 0x5c) slashes += 1;
  return slashes % 2 === 1;
}

/** As many bytes as before: whoever appends to the file meanwhile loses nothing, and its lines stay lines. */
async function overwrite(path: string, places: readonly { at: number; length: number }[], isShared: boolean): Promise<void> {
  const filler = (length: number) => Buffer.from(purgedMark.padEnd(length, "*").slice(0, length).padEnd(length, "*"));
  if (isShared) {
    // Another name of this file may be somebody else's: only this one is changed.
    const { readFile, stat } = await import("node:fs/promises");
    const bytes = await readFile(path);
    for (const { at, length } of places) filler(length).copy(bytes, at);
    const fresh = join(dirname(path), `.${process.pid}.purging`);
    await writeFile(fresh, bytes, { mode: (await stat(path)).mode });
    await rename(fresh, path).catch(async (error) => {
      await rm(fresh, { force: true });
      throw error;
    });
    return;
  }
  const file = await open(path, "r+");
  try {
    for (const { at, length } of places) await file.write(filler(length), 0, length, at);
    await file.sync();
  } finally {
    await file.close();
  }
}

const input: Buffer[] = [];
for await (const chunk of process.stdin) input.push(chunk as Buffer);
process.stdout.write(JSON.stringify(await search(JSON.parse(Buffer.concat(input).toString("utf8")) as FileQuestion)));
