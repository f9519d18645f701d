import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ProjectId, ThreadId } from "../../schemas/ids.ts";
import { restoreFrom } from "../../services/backing-up.ts";
import { examine } from "../../services/cli/examination.ts";
import { serveEnvironment } from "../../services/serving.ts";
import { reopened } from "../services/backup/rig.ts";
import { fork, makeDirty, privateRefs, startInRepository, stateOf, worktreeOf } from "../services/workspace/rig.ts";
import { filesWith, objectsWith } from "../support/byte-search.ts";
import { type TestEnvironment, temporaryFolder, until } from "../support/environments.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { git } from "../support/repository.ts";
import { shareOf } from "./boundary.ts";

const key = 'sk-live-"77"\\näö-KINGFISHER';

type Scene = {
  dir: string;
  repository: string;
  projectId: ProjectId;
  target: ThreadId;
  bystander: ThreadId;
  /** A commit of the user's that nothing leads to any more. */
  letGo: string;
  before: { repository: Record<string, string>; bystander: unknown };
};

/** A thread that was told the key and wrote it, one that never heard of it, and a repository full of work; all of it closed. */
async function scene(options: { backup?: boolean } = {}): Promise<Scene> {
  const { env, repository, projectId } = await startInRepository({ prepare: makeDirty });
  writeFileSync(join(repository, "dropped.txt"), "a stash of mine");
  git(repository, "stash", "push", "-u", "dropped.txt");
  const letGo = git(repository, "rev-parse", "stash@{0}").trim();
  git(repository, "stash", "drop");
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const [bystander, target] = [await fork(env, source), await fork(env, source)];
  await env.say(bystander, "write theirs.txt of another thread");
  await env.say(target, `write key.txt ${key}\n`);
  // Some of its objects in a pack beside the user's own, some of them loose.
  git(repository, "repack", "-a", "-d", "-k", "-q");
  await env.say(target, `write again.txt and again ${key}\n`);
  if (options.backup === true) await env.backups.make();
  const before = { repository: stateOf(repository), bystander: recordOf(env, repository, bystander) };
  expect(objectsWith(repository, key)).not.toEqual([]);
  await env.close();
  return { dir: env.dir, repository, projectId, target, bystander, letGo, before };
}

/** All that can be seen of a thread, and what its checkpoints and its worktree hold. */
const recordOf = (env: TestEnvironment, repository: string, id: ThreadId) => ({
  thread: env.threads.get(id),
  runs: env.threads.runs(id),
  items: env.threads.items(id),
  checkpoints: env.threads.checkpoints(id),
  kept: env.threads.checkpoints(id).map((c) => git(repository, "show", `${c.workspaceRef}:theirs.txt`)),
  file: readFileSync(join(worktreeOf(env, id), "theirs.txt"), "utf8"),
});

async function expectNothingElseChanged(at: Scene, env: TestEnvironment): Promise<void> {
  expect(stateOf(at.repository)).toEqual(at.before.repository);
  expect(recordOf(env, at.repository, at.bystander)).toEqual(at.before.bystander);
  expect(git(at.repository, "show", `${at.letGo}^3:dropped.txt`)).toBe("a stash of mine");
  git(at.repository, "fsck", "--full");
  const server = await serveEnvironment(env);
  onTestFinished(() => server.close());
  const findings = await examine(env.dir);
  expect(findings.filter((finding) => finding.state === "wrong")).toEqual([]);
  expect(findings.filter((finding) => finding.about === "worktrees")).toEqual([
    expect.objectContaining({ state: "fine", text: expect.stringContaining("all as they should be") }),
  ]);
  expect(await env.say(at.bystander, "still here?")).toMatchObject({ status: "completed" });
}

/** Without what the scripted provider keeps of its own accord, as the providers' own sessions are. */
const inFolder = (env: TestEnvironment) => filesWith(env.dir, key).filter((path) => !path.includes("/providers/"));

const ofThread = ["after step purge.pack_gone"];

const ofText = ["after step purge.backup_bundles_replaced"];

/** `after step purge.turn 40`: the fortieth time. */
function placeOf(name: string): { killAt: string; nth: number } {
  const [, killAt = "", nth = "1"] = /^(.*?)(?: (\d+))?$/.exec(name) ?? [];
  return { killAt, nth: Number(nth) };
}

test.each(shareOf(ofThread))("killed %s in the middle of purging a thread, the next start and the same call again end it", async (name) => {
  const at = await scene();
  const command = { type: "thread.purge", threadId: at.target, discardWork: true };
  await killedEnvironment({ dir: at.dir, commands: [{ command }], ...placeOf(name), maxMs: 120_000 });
  const env = await reopened(at.dir);
  expect(await env.dispatch(command)).toMatchObject({ ok: true });
  await until(() => env.threads.get(at.target)?.purge?.doneAt != null, "its content to go", 60_000);
  expect(inFolder(env)).toEqual([]);
  expect(objectsWith(at.repository, key)).toEqual([]);
  expect(filesWith(at.repository, key)).toEqual([]);
  expect(env.threads.get(at.target)).toMatchObject({ status: "deleted", title: "" });
  await expectNothingElseChanged(at, env);
});

test.each(shareOf(ofText))("killed %s in the middle of purging a text, the same call again ends it", async (name) => {
  const at = await scene({ backup: true });
  await killedEnvironment({ dir: at.dir, commands: [{ purge: key }], ...placeOf(name), maxMs: 120_000 });
  const env = await reopened(at.dir);
  const report = await env.purges.purge(key);
  expect(report.left).toEqual([]);
  expect(filesWith(at.dir, key)).toEqual([]);
  expect(objectsWith(at.repository, key)).toEqual([]);
  expect(filesWith(at.repository, key)).toEqual([]);
  await expectNothingElseChanged(at, env);
  // Its files are those of its checkpoints, without it.
  for (const checkpoint of env.threads.checkpoints(at.target)) {
    expect(git(at.repository, "rev-parse", `${checkpoint.workspaceRef}`).trim()).toBe(checkpoint.workspace?.commit);
    expect(git(at.repository, "show", `${checkpoint.workspaceRef}:key.txt`)).toBe("[purged]\n");
  }
  expect(await env.say(at.target, "hello")).toMatchObject({ status: "completed" });
  // And the backup is whole.
  const [backup] = env.backups.list();
  const kept = privateRefs(at.repository);
  await env.close();
  for (const ref of kept) git(at.repository, "update-ref", "-d", ref);
  git(at.repository, "gc", "-q", "--prune=now");
  const into = join(temporaryFolder(), "restored");
  const restored = await restoreFrom(backup?.path ?? "", { into, beside: true });
  expect(restored.repositories).toMatchObject([{ path: at.repository, state: "restored" }]);
  expect(filesWith(into, key)).toEqual([]);
  expect(git(at.repository, "show", `${kept.find((ref) => ref.endsWith("/base"))}:rope.txt`)).toContain("changed");
});
