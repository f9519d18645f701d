import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunId, ThreadId } from "../../../schemas/ids.ts";
import { threadOf } from "../../runtime/folders.ts";
import type { RepositoryFinding } from "../../runtime/ports/workspaces.ts";
import type { Needle } from "../../runtime/redaction/needle.ts";
import { runFrom } from "../../runtime/typed-actors.ts";
import { git, gitMaybe, gitText, longMs } from "../git.ts";
import type { PrivateRef } from "../refs.ts";
import { isWorktree, type Setting } from "../setting.ts";
import { letGoCommits, objectsFrom, protectedObjects, readObjects, removeObjects } from "./objects.ts";
import { cleanBlobs, cleanEntries, cleanSnapshot, entriesOf } from "./rewrite.ts";

/** While runs are under way, what was made in the last moments may be about to get its ref. */
export function settledBefore({ store, clock }: Setting): number {
  const isBusy = store.countBy({ kind: "thread", statuses: ["running"] }) > 0;
  return isBusy ? clock.now() - youngMs : Number.MAX_SAFE_INTEGER;
}
const youngMs = 300_000;

/** What is ours alone in a repository, and what of it holds a text. */
type Held = { refs: PrivateRef[]; let: string[]; own: Set<string>; bad: Set<string>; strays: number };

async function heldBy(setting: Setting, repository: string, needle: Needle): Promise<Held> {
  const refs = await setting.refs.list(repository);
  const letGo = await letGoCommits(repository, settledBefore(setting));
  const guarded = await protectedObjects(repository, setting.refs.root, letGo.others);
  const own = await objectsFrom(repository, [...refs.map((r) => r.commit), ...letGo.ours]);
  for (const id of guarded) own.delete(id);
  const bad = new Set<string>();
  for await (const batch of readObjects(repository, [...own])) for (const { id, bytes } of batch) if (needle.isInBytes(bytes)) bad.add(id);
  // What nothing leads to, and no commit of ours ever did: it may be somebody's, and stays.
  const strange = letGo.loose.filter((id) => !own.has(id));
  let strays = 0;
  for await (const batch of readObjects(repository, strange)) for (const { bytes } of batch) if (needle.isInBytes(bytes)) strays += 1;
  return { refs, let: letGo.ours, own, bad, strays };
}

/** Finds a text in what this environment keeps in a repository, and names what is the user's. Changes nothing. */
export async function lookInRepository(setting: Setting, repository: string, needle: Needle): Promise<RepositoryFinding[]> {
  const held = await heldBy(setting, repository, needle);
  const found: RepositoryFinding[] = [...(await usersOwn(repository, needle)), ...strayed(repository, held.strays)];
  if (held.bad.size === 0) return found;
  let inRefs = 0;
  for (const { ref, commit, thread } of held.refs) {
    const objects = await objectsFrom(repository, [commit]);
    const count = [...held.bad].filter((id) => objects.has(id)).length;
    if (count === 0) continue;
    inRefs += 1;
    found.push({ repository, threadId: threadOf(thread), what: "checkpoint", name: ref, count, isOurs: true });
  }
  if (inRefs === 0)
    found.push({ repository, threadId: null, what: "objects", name: "left of checkpoints", count: held.bad.size, isOurs: true });
  return found;
}

/**
 * Takes a text out of every snapshot, then takes the objects that held it out of the repository. `repoint` is told which
 * commit stands for which, between the two. May be repeated after a crash anywhere.
 */
export async function purgeRepository(
  setting: Setting,
  repository: string,
  needle: Needle,
  repoint: (commits: ReadonlyMap<string, string>) => Promise<void>,
): Promise<void> {
  await cleanIndexes(setting, repository, needle);
  const held = await heldBy(setting, repository, needle);
  const commits = await cleanRefs(setting, repository, held, needle);
  if (commits.size > 0) await repoint(commits);
  setting.step("purge.repointed");
  await removeUnneeded(setting, repository, [...held.refs.map((r) => r.commit), ...held.let]);
}

/** Of what these commits lead to: all that nothing else does is taken out. Answers what could not be. */
export async function removeUnneeded(setting: Setting, repository: string, roots: readonly string[]): Promise<string[]> {
  const { others } = await letGoCommits(repository, settledBefore(setting));
  const gone = await objectsFrom(repository, roots);
  for (const id of await protectedObjects(repository, "refs/none", others)) gone.delete(id);
  setting.step("purge.objects_chosen");
  return removeObjects(repository, gone, (name) => setting.step(name));
}

async function cleanRefs(setting: Setting, repository: string, held: Held, needle: Needle): Promise<Map<string, string>> {
  const blobs = await cleanBlobs(repository, [...held.bad], needle);
  const commits = new Map<string, string>();
  const ancestor = async (id: string): Promise<string | null> => {
    for (let at: string | null = id; at !== null; at = await gitMaybe(repository, ["rev-parse", "-q", "--verify", `${at}^1`]))
      if (!held.own.has(at)) return at;
    return null;
  };
  for await (const batch of readObjects(repository, [...new Set(held.refs.map((r) => r.commit))]))
    for (const commit of batch) {
      const clean = await cleanSnapshot(setting, repository, commit, blobs, needle, ancestor);
      if (clean !== null) commits.set(commit.id, clean);
    }
  for (const { ref, commit, of } of held.refs) {
    // A purge that was cut off here has moved the ref, and nobody was told.
    const recorded = recordedAt(setting, of);
    if (recorded !== null && recorded !== commit) commits.set(recorded, commits.get(commit) ?? commit);
    const clean = commits.get(commit);
    if (clean !== undefined) await git(repository, ["update-ref", "--no-deref", ref, clean, commit]);
    setting.step("purge.ref_moved");
  }
  return commits;
}

function recordedAt({ store }: Setting, of: string): string | null {
  const run = runFrom(store, `run:${of}` as RunId);
  return run?.checkpointId == null ? null : (store.checkpoint(run.checkpointId)?.workspace?.commit ?? null);
}

/** Worktrees of this environment's making: what is staged there is as its files are, which are cleaned apart. */
async function cleanIndexes(setting: Setting, repository: string, needle: Needle): Promise<void> {
  const common = await gitText(repository, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  for (const name of existsSync(setting.root) ? await readdir(setting.root) : []) {
    const path = join(setting.root, name);
    if (name.startsWith(".") || !isWorktree(path)) continue;
    if ((await gitMaybe(path, ["rev-parse", "--path-format=absolute", "--git-common-dir"])) !== common) continue;
    const found = entriesOf(await git(path, ["ls-files", "-s", "-z"], { timeoutMs: longMs }), true);
    const committed = new Set(
      entriesOf(await git(path, ["ls-tree", "-r", "-z", "HEAD"], { timeoutMs: longMs }).catch(() => Buffer.alloc(0)), false).map(
        (e) => e.id,
      ),
    );
    const staged = found.filter((entry) => !committed.has(entry.id) || needle.isInBytes(entry.path));
    const info = cleanEntries(
      staged,
      await cleanBlobs(
        repository,
        staged.map((e) => e.id),
        needle,
      ),
      needle,
    );
    if (info !== null) await git(path, ["update-index", "-z", "--index-info"], { input: info, timeoutMs: longMs });
  }
}

/** Files of the user's own folder and what is committed there: named, never touched. */
async function usersOwn(repository: string, needle: Needle): Promise<RepositoryFinding[]> {
  const names = async (args: string[]) => {
    const input = Buffer.from(
      `${needle.forms
        .flatMap((form) => form.split("\n"))
        .filter((line) => line.trim().length > 3)
        .join("\n")}\n`,
    );
    const answer = await git(repository, ["grep", "-l", "-z", "-a", "-F", "-f", "-", ...args], { input, timeoutMs: longMs }).catch(
      () => null,
    );
    return answer === null ? [] : answer.toString("utf8").split("\0").filter(Boolean);
  };
  const found: RepositoryFinding[] = [];
  for (const name of await names(["--untracked", "--no-exclude-standard"])) {
    const bytes = await readFile(join(repository, name)).catch(() => null);
    if (bytes !== null && needle.isInBytes(bytes)) found.push({ repository, threadId: null, what: "file", name, count: 1, isOurs: false });
  }
  for (const name of await names(["HEAD"])) {
    const bytes = await git(repository, ["cat-file", "blob", name]).catch(() => null);
    if (bytes === null || !needle.isInBytes(bytes)) continue;
    found.push({ repository, threadId: null, what: "commit", name: name.slice("HEAD:".length), count: 1, isOurs: false });
  }
  return found;
}

const strayed = (repository: string, count: number): RepositoryFinding[] =>
  count === 0
    ? []
    : [{ repository, threadId: null as ThreadId | null, what: "objects", name: "that nothing leads to", count, isOurs: false }];
