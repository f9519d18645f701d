import { existsSync } from "node:fs";
import { chmod, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { git, gitMaybe, gitText, longMs } from "../git.ts";

/** So much is read of a repository at once. */
const batchBytes = 64 * 1024 * 1024;

export type GitObject = { id: string; type: string; bytes: Buffer };

const lines = (answer: Buffer): string[] => answer.toString("latin1").split("\n").filter(Boolean);

/** Objects by their names, in pieces; those that are not there are left out. */
export async function* readObjects(repository: string, ids: readonly string[]): AsyncGenerator<GitObject[]> {
  let batch: string[] = [];
  let size = 0;
  for (const { id, bytes } of await sizesOf(repository, ids)) {
    if (batch.length > 0 && size + bytes > batchBytes) {
      yield await readAll(repository, batch);
      batch = [];
      size = 0;
    }
    batch.push(id);
    size += bytes;
  }
  if (batch.length > 0) yield await readAll(repository, batch);
}

/** Those of these that the repository has. */
async function sizesOf(repository: string, ids: readonly string[]): Promise<{ id: string; type: string; bytes: number }[]> {
  if (ids.length === 0) return [];
  const input = Buffer.from(`${ids.join("\n")}\n`);
  return lines(await git(repository, ["cat-file", "--batch-check", "--buffer"], { input, timeoutMs: longMs })).flatMap((line) => {
    const [id = "", type = "", bytes = ""] = line.split(" ");
    return /^\d+$/.test(bytes) ? [{ id, type, bytes: Number(bytes) }] : [];
  });
}

async function readAll(repository: string, ids: readonly string[]): Promise<GitObject[]> {
  const answer = await git(repository, ["cat-file", "--batch", "--buffer"], {
    input: Buffer.from(`${ids.join("\n")}\n`),
    timeoutMs: longMs,
  });
  const found: GitObject[] = [];
  for (let at = 0; at < answer.length; ) {
    const end = answer.indexOf(0x0a, at);
    const [id = "", type = "", size = ""] = answer.toString("latin1", at, end).split(" ");
    at = end + 1;
    if (!/^\d+$/.test(size)) continue;
    found.push({ id, type, bytes: answer.subarray(at, at + Number(size)) });
    at += Number(size) + 1;
  }
  return found;
}

/** Every object that these commits lead to, themselves too. */
export async function objectsFrom(repository: string, roots: readonly string[]): Promise<Set<string>> {
  if (roots.length === 0) return new Set();
  const input = Buffer.from(`${roots.join("\n")}\n`);
  const args = ["rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--stdin"];
  return new Set(lines(await git(repository, args, { input, timeoutMs: longMs })));
}

/**
 * What nobody of ours may touch: all that the refs but those under `except`, the heads, the reflogs and the indexes of every
 * worktree lead to; and what commits lead to that somebody else has made and let go of.
 */
export async function protectedObjects(repository: string, except: string, strangers: readonly string[]): Promise<Set<string>> {
  const args = ["rev-list", "--objects", "--no-object-names", "--missing=allow-any"];
  const all = [`--exclude=${except}/*`, "--all", "--reflog", "--indexed-objects", "--ignore-missing"];
  const found = new Set(lines(await git(repository, [...args, ...all], { timeoutMs: longMs })));
  for (const id of await objectsFrom(repository, strangers)) found.add(id);
  return found;
}

/**
 * Commits that nothing leads to any more: those that snapshots of ours were, and everybody else's. A snapshot of the last
 * moments may just be about to get its ref: with `settledBefore` (milliseconds), younger ones count as somebody else's.
 */
export async function letGoCommits(
  repository: string,
  settledBefore: number,
): Promise<{ ours: string[]; others: string[]; loose: string[] }> {
  // Not git's own check, which gives up where a purge that was killed has left a commit without its files.
  const args = ["rev-list", "--objects", "--no-object-names", "--missing=allow-any"];
  const all = ["--all", "--reflog", "--indexed-objects", "--ignore-missing"];
  const led = new Set(lines(await git(repository, [...args, ...all], { timeoutMs: longMs })));
  const every = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)", "--buffer"];
  const ours: string[] = [];
  const others: string[] = [];
  const loose: string[] = [];
  const commits: string[] = [];
  for (const line of lines(await git(repository, every, { timeoutMs: longMs }))) {
    const [id = "", type = ""] = line.split(" ");
    if (led.has(id)) continue;
    if (type === "commit") commits.push(id);
    else if (type === "tag") others.push(id);
    else loose.push(id);
  }
  for await (const batch of readObjects(repository, commits))
    for (const { id, bytes } of batch) (isSnapshot(bytes, settledBefore) ? ours : others).push(id);
  return { ours, others, loose };
}

/** A commit that a snapshot of ours is, by who made it. */
function isSnapshot(commit: Buffer, settledBefore: number): boolean {
  const [, at] = /^committer ropewalk <ropewalk@localhost> (\d+) /m.exec(commit.toString("utf8")) ?? [];
  return at !== undefined && Number(at) * 1_000 <= settledBefore;
}

/**
 * Takes objects out of a repository for good. A loose one is a file; a pack that has one is written again without it, with
 * everything else that it had, whether anything leads there or not. `ids` are in the order in which one leads to another: so
 * long as one is there, so is what tells whose it is, and a purge that was killed can be run again. Answers those that are
 * still there.
 */
export async function removeObjects(
  repository: string,
  ids: ReadonlySet<string>,
  step: (name: string) => void = () => undefined,
): Promise<string[]> {
  const objects = await gitText(repository, ["rev-parse", "--path-format=absolute", "--git-path", "objects"]);
  await removeEmptyIndexes(join(objects, "pack"));
  if (ids.size === 0) return [];
  // Before: nothing may be said of a commit that is not there.
  if (existsSync(join(objects, "info", "commit-graph")) || existsSync(join(objects, "info", "commit-graphs")))
    await gitMaybe(repository, ["commit-graph", "write", "--reachable"], { timeoutMs: longMs });
  await repack(repository, objects, ids, step);
  for (const id of [...ids].reverse()) {
    const path = join(objects, id.slice(0, 2), id.slice(2));
    if (!existsSync(path)) continue;
    await rm(path, { force: true });
    step("purge.object_gone");
  }
  step("purge.objects_gone");
  return (await sizesOf(repository, [...ids])).map(({ id }) => id);
}

/** Of packs that a killed purge has removed: without its pack an index is nothing, and git passes over it. */
async function removeEmptyIndexes(folder: string): Promise<void> {
  for (const name of existsSync(folder) ? await readdir(folder) : []) {
    if (!/^pack-.*\.idx$/.test(name) || existsSync(join(folder, `${name.slice(0, -".idx".length)}.pack`))) continue;
    await rm(join(folder, name), { force: true });
  }
}

async function repack(repository: string, objects: string, ids: ReadonlySet<string>, step: (name: string) => void): Promise<void> {
  const folder = join(objects, "pack");
  const names = existsSync(folder) ? await readdir(folder) : [];
  const index = join(folder, "multi-pack-index");
  const hadIndex = existsSync(index);
  for (const name of names.filter((n) => n.endsWith(".idx"))) {
    const pack = join(folder, name.slice(0, -".idx".length));
    // Somebody wants this pack as it is.
    if (existsSync(`${pack}.keep`) || existsSync(`${pack}.promisor`)) continue;
    const held = await contentOf(repository, `${pack}.idx`);
    const stay = held.filter((id) => !ids.has(id));
    if (stay.length === held.length) continue;
    if (stay.length > 0)
      await git(repository, ["pack-objects", "-q", "--window=0", join(folder, "pack")], {
        input: Buffer.from(`${stay.join("\n")}\n`),
        timeoutMs: longMs,
      });
    step("purge.pack_written");
    if (hadIndex) await rm(index, { force: true });
    // The index last of all: a pack without one is seen by nobody any more, and would stay with all that is in it.
    for (const end of [".pack", ".rev", ".bitmap", ".mtimes", ".idx"]) {
      await chmod(`${pack}${end}`, 0o600).catch(() => undefined);
      await rm(`${pack}${end}`, { force: true });
      if (end === ".pack") step("purge.pack_gone");
    }
  }
  if (hadIndex) await gitMaybe(repository, ["multi-pack-index", "write"], { timeoutMs: longMs });
}

/** Every object in the packs of a repository's own. */
export async function objectsOfPacks(repository: string): Promise<string[]> {
  const folder = await gitText(repository, ["rev-parse", "--path-format=absolute", "--git-path", "objects/pack"]);
  const found = (await readdir(folder)).filter((name) => name.endsWith(".idx")).map((name) => contentOf(repository, join(folder, name)));
  return (await Promise.all(found)).flat();
}

async function contentOf(repository: string, idx: string): Promise<string[]> {
  const answer = lines(await git(repository, ["show-index"], { input: await readFile(idx), timeoutMs: longMs }));
  return answer.flatMap((line) => /^\d+ ([0-9a-f]{40,64})/.exec(line)?.[1] ?? []);
}
