import { existsSync } from "node:fs";
import { mkdir, mkdtemp, open, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { KeptRef } from "../../../schemas/backup.ts";
import type { Needle } from "../../runtime/redaction/needle.ts";
import { git, gitMaybe, gitText, longMs } from "../git.ts";
import { isWorktree, type Setting } from "../setting.ts";
import { objectsOfPacks, readObjects } from "./objects.ts";
import { cleanBlobs, cleanSnapshot } from "./rewrite.ts";

/** `commits`: which stands for which, empty where the bundle held nothing of it. */
export type BundleLook = { isIn: boolean; commits: ReadonlyMap<string, string> };

/**
 * Finds a text in a bundle of private refs, and with `rewrite` makes the bundle again without it, under the same name. It is
 * unpacked into a repository of its own, which borrows from the user's what the bundle builds on. Throws GitFailure, e.g.
 * where that is gone.
 */
export async function bundleText(
  setting: Pick<Setting, "scratch">,
  repository: string,
  bundle: string,
  refs: readonly KeptRef[],
  needle: Needle,
  rewrite: boolean,
): Promise<BundleLook> {
  await mkdir(setting.scratch, { recursive: true });
  const own = await mkdtemp(join(setting.scratch, ".bundle-"));
  try {
    await git(own, ["init", "-q", "--bare"]);
    if (isWorktree(repository)) {
      const lent = await gitText(repository, ["rev-parse", "--path-format=absolute", "--git-path", "objects"]);
      await writeFile(join(own, "objects", "info", "alternates"), `${lent}\n`);
    }
    const heads = await git(own, ["bundle", "unbundle", bundle], { timeoutMs: longMs });
    const now = refsNow(refs, heads);
    const held = new Set(await objectsOfPacks(own));
    const bad: string[] = [];
    for await (const batch of readObjects(own, [...held])) for (const { id, bytes } of batch) if (needle.isInBytes(bytes)) bad.push(id);
    if (bad.length === 0 || !rewrite) return { isIn: bad.length > 0, commits: standingFor(refs, now, new Map()) };
    const commits = await cleaned(setting, own, now, held, bad, needle);
    const kept = now.map(({ ref, commit }) => `update ${ref} ${commits.get(commit) ?? commit}\n`);
    await git(own, ["update-ref", "--no-deref", "--stdin"], { input: Buffer.from(kept.join("")) });
    const fresh = `${bundle}.new`;
    const input = Buffer.from(refs.map(({ ref }) => `${ref}\n`).join(""));
    const base = (await basesOf(bundle)).flatMap((id) => ["--not", id]);
    await git(own, ["bundle", "create", "-q", fresh, "--stdin", ...base], { input, timeoutMs: longMs });
    await rename(fresh, bundle);
    return { isIn: true, commits: standingFor(refs, now, commits) };
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** As the bundle has them: a purge that was cut off behind it has made it again, and no manifest was told. */
function refsNow(refs: readonly KeptRef[], heads: Buffer): KeptRef[] {
  const commits = new Map<string, string>();
  for (const line of heads.toString("utf8").split("\n")) {
    const [commit = "", ref = ""] = line.split(" ");
    commits.set(ref, commit);
  }
  return refs.map(({ ref, commit }) => ({ ref, commit: commits.get(ref) ?? commit }));
}

/** What stands for each commit that the manifest names, where it is another. */
function standingFor(refs: readonly KeptRef[], now: readonly KeptRef[], cleaned: ReadonlyMap<string, string>): Map<string, string> {
  const commits = new Map<string, string>();
  refs.forEach(({ commit }, at) => {
    const before = now[at]?.commit ?? commit;
    const after = cleaned.get(before) ?? before;
    if (after !== commit) commits.set(commit, after);
  });
  return commits;
}

async function cleaned(
  setting: Pick<Setting, "scratch">,
  own: string,
  refs: readonly KeptRef[],
  held: ReadonlySet<string>,
  bad: readonly string[],
  needle: Needle,
): Promise<Map<string, string>> {
  const blobs = await cleanBlobs(own, bad, needle);
  const commits = new Map<string, string>();
  const ancestor = async (id: string): Promise<string | null> => {
    for (let at: string | null = id; at !== null; at = await gitMaybe(own, ["rev-parse", "-q", "--verify", `${at}^1`]))
      if (!held.has(at)) return at;
    return null;
  };
  for await (const batch of readObjects(own, [...new Set(refs.map((r) => r.commit))]))
    for (const commit of batch) {
      const clean = await cleanSnapshot(setting, own, commit, blobs, needle, ancestor);
      if (clean !== null) commits.set(commit.id, clean);
    }
  return commits;
}

/** Commits that a bundle builds on, as its head says. */
async function basesOf(bundle: string): Promise<string[]> {
  if (!existsSync(bundle)) return [];
  const file = await open(bundle, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1024 * 1024), 0, 1024 * 1024, 0);
    const head = buffer.toString("latin1", 0, bytesRead).split("\n\n")[0] ?? "";
    return [...head.matchAll(/^-([0-9a-f]{40,64})/gm)].map(([, id = ""]) => id);
  } finally {
    await file.close();
  }
}
