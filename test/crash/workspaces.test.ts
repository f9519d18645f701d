import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ThreadId } from "../../schemas/ids.ts";
import { examine } from "../../services/cli/examination.ts";
import { serveEnvironment } from "../../services/serving.ts";
import { fork, makeDirty, privateRefs, startInRepository, stateOf, worktreeOf, worktreesOf } from "../services/workspace/rig.ts";
import { startEnvironment, type TestEnvironment, until } from "../support/environments.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { shareOf } from "./boundary.ts";

type Scene = { dir: string; repository: string; source: ThreadId; target: ThreadId; before: Record<string, string> };

/** A fork that has not run yet, in a repository full of work; the environment is closed. */
async function scene(options: { runFork?: boolean; setup?: string; writes?: string[] } = {}): Promise<Scene> {
  const { env, repository, projectId } = await startInRepository({ prepare: makeDirty });
  if (options.setup !== undefined) await env.send({ type: "project.configure", projectId, setup: options.setup });
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  const target = await fork(env, source);
  if (options.runFork === true) await env.say(target, "hello");
  for (const text of options.writes ?? []) await env.say(target, `write rope.txt ${text}`);
  const before = stateOf(repository);
  await env.close();
  return { dir: env.dir, repository, source, target, before };
}

/** Another process's environment on the folder, when it has come to rest. */
async function restarted(at: Scene): Promise<TestEnvironment> {
  const env = await startEnvironment({ dir: at.dir, scripts: {}, config: JSON.parse(readFileSync(join(at.dir, "config.json"), "utf8")) });
  const ids = [at.source, at.target];
  await until(() => ids.every((id) => env.threads.get(id)?.status !== "running"), "the threads to come to rest");
  return env;
}

/** What doctor says of worktrees, by state. */
async function doctor(env: TestEnvironment): Promise<string[]> {
  const server = await serveEnvironment(env);
  onTestFinished(() => server.close());
  const findings = await examine(env.dir);
  return findings.filter((f) => f.about === "worktrees").map((f) => `${f.state}: ${f.text}`);
}

const send = (at: Scene, text: string) => ({ id: "cmd:test:1", command: { type: "thread.send", threadId: at.target, text } });

async function expectMade(at: Scene, env: TestEnvironment): Promise<void> {
  const path = worktreeOf(env, at.target);
  expect(worktreesOf(at.repository)).toEqual([path]);
  expect(readFileSync(join(path, "rope.txt"), "utf8")).toBe("one\ntwo changed\nthree\n");
  expect(stateOf(at.repository)).toEqual(at.before);
  expect(privateRefs(at.repository).filter((ref) => ref.endsWith("/base"))).toHaveLength(1);
  for (const run of env.threads.runs(at.target)) expect(["completed", "interrupted"]).toContain(run.status);
  expect(await doctor(env)).toEqual([expect.stringMatching(/^fine: 1 worktree, .*; all as they should be$/)]);
}

const making = [
  "before effect workspace.make",
  "after step base.kept",
  "after step worktree.added",
  "after step worktree.filled",
  "after step worktree.marked",
  "before commit thread.placed*",
  "after commit thread.placed*",
  "after step snapshot.written",
  "after step snapshot.kept",
];
test.each(shareOf(making))(
  "killed %s while a worktree is made and its first run ends, the next start comes to the same end",
  async (killAt) => {
    const at = await scene();
    await killedEnvironment({ dir: at.dir, commands: [send(at, "hello")], killAt });
    const env = await restarted(at);
    await env.say(at.target, "hello again");
    await expectMade(at, env);
    const kept = privateRefs(at.repository).filter((ref) => !ref.endsWith("/base"));
    const recorded = [at.source, at.target].flatMap((id) => env.threads.checkpoints(id).map((c) => c.workspaceRef));
    await until(() => privateRefs(at.repository).filter((ref) => !ref.endsWith("/base")).length === recorded.length, "stale refs to go");
    expect(kept.length).toBeGreaterThan(0);
  },
);

test("killed while a setup command runs, the next start runs it again, and the run goes on", async () => {
  const at = await scene({ setup: "echo once >> setup.log" });
  await killedEnvironment({ dir: at.dir, commands: [send(at, "hello")], killAt: "after step setup.begins" });
  const env = await restarted(at);
  await env.say(at.target, "hello again");
  expect(readFileSync(join(worktreeOf(env, at.target), "setup.log"), "utf8")).toMatch(/^(once\n){1,2}$/);
});

const removing = [
  "after commit thread.deleted*",
  "before effect workspace.remove",
  "after step worktree.moved_away",
  "after step worktree.forgotten",
  "after step refs.dropped",
  "after effect workspace.remove",
];
test.each(shareOf(removing))("killed %s while a worktree is removed, the next start has it removed", async (killAt) => {
  const at = await scene({ runFork: true });
  const commands = [{ command: { type: "thread.delete", threadId: at.target } }];
  await killedEnvironment({ dir: at.dir, commands, killAt });
  const env = await restarted(at);
  await until(() => worktreesOf(at.repository).length === 0 && privateRefs(at.repository).length === 1, "the worktree to go");
  await until(() => !existsSync(join(at.dir, "worktrees", `.trash-${at.target.slice("thread:".length)}`)), "its files to go");
  expect(stateOf(at.repository)).toEqual(at.before);
  expect(await doctor(env)).toEqual([expect.stringMatching(/^fine: 0 worktrees, .*; all as they should be$/)]);
});

const undoing = [
  "before commit thread.rolled_back*",
  "after commit thread.rolled_back*",
  "before effect workspace.restore",
  "after step undo.kept",
  "after step undo.filled",
  "after step undo.done",
  "before commit thread.files_restored*",
  "after commit thread.files_restored*",
];
const undoingGit = ["update-ref", "read-tree", "reset"].flatMap((command) =>
  (["before", "during"] as const).map((when) => `${command} ${when}`),
);
test.each(shareOf([...undoing, ...undoingGit]))(
  "killed (%s) in the middle of an undo, thread and worktree are both as before or both as after, and the undo can be taken back",
  async (place) => {
    const at = await scene({ writes: ["first", "second"] });
    const commands = [{ id: "cmd:test:1", command: { type: "thread.undo", threadId: at.target } }];
    const [command = "", when] = place.split(" ");
    if (undoing.includes(place)) await killedEnvironment({ dir: at.dir, commands, killAt: place });
    else
      await withKillingGit(at, command, when as "before" | "during", () => killedEnvironment({ dir: at.dir, commands, killAt: "never" }));
    const env = await restarted(at);
    const quiet = () => until(() => env.threads.get(at.target)?.restoring == null, "the worktree to go back");
    const words = () => readFileSync(join(worktreeOf(env, at.target), "rope.txt"), "utf8");
    await quiet();
    const isBefore = env.threads.runs(at.target).every((run) => run.status === "completed");
    expect(words()).toBe(isBefore ? "second" : "first");
    expect(isBefore).toBe(place.startsWith("before commit thread.rolled_back"));
    if (isBefore) await env.send({ type: "thread.undo", threadId: at.target });
    await quiet();
    await env.send({ type: "thread.redo", threadId: at.target });
    await quiet();
    expect(words()).toBe("second");
    expect(env.threads.runs(at.target).map((run) => run.status)).toEqual(["completed", "completed"]);
    expect(stateOf(at.repository)).toEqual(at.before);
    expect(await doctor(env)).toEqual([expect.stringMatching(/^fine: 1 worktree, .*; all as they should be$/)]);
  },
);

/** Calls of git that write, in the order in which making a worktree and ending its first run come to them. */
const writes = ["update-ref", "worktree", "read-tree", "update-index", "write-tree", "commit-tree"];
const moments = writes.flatMap((command) => (["before", "during"] as const).map((when) => [command, when] as const));
test.each(shareOf(moments))(
  "git itself killed with its environment, %s (%s): the next start comes to the same end",
  async (command, when) => {
    const at = await scene();
    await withKillingGit(at, command, when, () => killedEnvironment({ dir: at.dir, commands: [send(at, "hello")], killAt: "never" }));
    const env = await restarted(at);
    await env.say(at.target, "hello again");
    await expectMade(at, env);
  },
);

async function withKillingGit(at: Scene, command: string, when: "before" | "during", work: () => Promise<void>): Promise<void> {
  const path = process.env.PATH;
  process.env.PATH = `${killingGit(at.dir, command, when)}:${path}`;
  try {
    await work();
  } finally {
    process.env.PATH = path;
  }
}

/** A `git` that kills whoever started it and itself when it is asked for a command: before it does it, or just after it began. */
function killingGit(dir: string, command: string, when: "before" | "during"): string {
  const bin = join(dir, "bin");
  mkdirSync(bin, { recursive: true });
  const real = process.env.PATH?.split(":")
    .map((p) => join(p, "git"))
    .find(existsSync);
  const begun = when === "before" ? "" : `"${real}" "$@" </dev/null & git=$!; sleep 0.00$((RANDOM % 9)); kill -9 $git 2>/dev/null;`;
  const body = `#!/bin/bash\nif [ "$1" = "${command}" ]; then ${begun} kill -9 $PPID; exit 1; fi\nexec "${real}" "$@"\n`;
  writeFileSync(join(bin, "git"), body);
  chmodSync(join(bin, "git"), 0o755);
  return bin;
}
