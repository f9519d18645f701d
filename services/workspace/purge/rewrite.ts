import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Needle } from "../../runtime/redaction/needle.ts";
import { entries, git, gitText, longMs } from "../git.ts";
import type { Setting } from "../setting.ts";
import { type GitObject, readObjects } from "./objects.ts";

type Entry = { mode: string; id: string; path: Buffer };

/** What of a tree or an index holds a text: files by what is in them, and by what they are called. */
export function entriesOf(answer: Buffer, hasStage: boolean): Entry[] {
  return entries(answer).flatMap((entry) => {
    const tab = entry.indexOf(0x09);
    const [mode = "", second = "", third = ""] = entry.toString("latin1", 0, tab).split(" ");
    return tab === -1 ? [] : [{ mode, id: hasStage ? second : third, path: entry.subarray(tab + 1) }];
  });
}

/** Makes blobs without a text; answers which stands for which. */
export async function cleanBlobs(repository: string, ids: readonly string[], needle: Needle): Promise<Map<string, string>> {
  const made = new Map<string, string>();
  for await (const batch of readObjects(repository, ids))
    for (const { id, type, bytes } of batch) {
      if (type !== "blob" || !needle.isInBytes(bytes)) continue;
      const input = needle.replaceInBytes(bytes);
      made.set(id, await gitText(repository, ["hash-object", "-w", "--stdin"], { input }));
    }
  return made;
}

/** What to tell `update-index --index-info` so that no entry holds the text; null: none does. */
export function cleanEntries(found: readonly Entry[], blobs: ReadonlyMap<string, string>, needle: Needle): Buffer | null {
  const said = found.flatMap(({ mode, id, path }) => {
    const blob = blobs.get(id) ?? id;
    const name = needle.isInBytes(path) ? needle.replaceInBytes(path) : path;
    if (blob === id && name === path) return [];
    const gone = name === path ? [] : [Buffer.from(`0 ${"0".repeat(id.length)}\t`), path, Buffer.of(0)];
    return [...gone, Buffer.from(`${mode} ${blob}\t`), name, Buffer.of(0)];
  });
  return said.length === 0 ? null : Buffer.concat(said);
}

/**
 * The same snapshot without a text: in its files, their names and its words. `ancestor` tells which commit stands for a
 * parent that is to go. Null when it holds nothing of it.
 */
export async function cleanSnapshot(
  setting: Pick<Setting, "scratch">,
  repository: string,
  commit: GitObject,
  blobs: ReadonlyMap<string, string>,
  needle: Needle,
  ancestor: (parent: string) => Promise<string | null>,
): Promise<string | null> {
  const tree = await gitText(repository, ["rev-parse", `${commit.id}^{tree}`]);
  const found = entriesOf(await git(repository, ["ls-tree", "-r", "-z", "--full-tree", tree], { timeoutMs: longMs }), false);
  const info = cleanEntries(found, blobs, needle);
  const isInWords = needle.isInBytes(commit.bytes);
  const parents = [...commit.bytes.toString("latin1").matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, id = ""]) => id);
  const stand = await Promise.all(parents.map(ancestor));
  if (info === null && !isInWords && stand.every((id, i) => id === parents[i])) return null;
  const clean = info === null ? tree : await treeWith(setting, repository, tree, info);
  const [head = "", ...words] = commit.bytes.toString("latin1").split("\n\n");
  const kept = head.split("\n").filter((line) => !/^(tree|parent) /.test(line));
  const lines = [`tree ${clean}`, ...stand.flatMap((id) => (id === null ? [] : [`parent ${id}`])), ...kept];
  const input = needle.replaceInBytes(Buffer.from([lines.join("\n"), ...words].join("\n\n"), "latin1"));
  return gitText(repository, ["hash-object", "-t", "commit", "-w", "--stdin"], { input });
}

async function treeWith(setting: Pick<Setting, "scratch">, repository: string, tree: string, info: Buffer): Promise<string> {
  const { mkdir } = await import("node:fs/promises");
  await mkdir(setting.scratch, { recursive: true });
  const own = await mkdtemp(join(setting.scratch, ".purge-"));
  try {
    const call = { index: join(own, "index"), timeoutMs: longMs };
    await git(repository, ["read-tree", tree], call);
    await git(repository, ["update-index", "-z", "--index-info"], { ...call, input: info });
    return await gitText(repository, ["write-tree", "--missing-ok"], call);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}
