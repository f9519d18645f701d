import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { git } from "../../support/repository.ts";
import { makeDirty, privateRefs, startInRepository, stateOf, worktreeOf } from "./rig.ts";

test("each completed run has a checkpoint with the files as they were, and no other run has", async () => {
  const { env, repository, projectId } = await startInRepository({ prepare: makeDirty });
  const thread = await env.newThread({ projectId });
  await env.say(thread, "write rope.txt first");
  await env.say(thread, "fail");
  await env.say(thread, "write rope.txt second");
  const checkpoints = env.threads.checkpoints(thread);
  expect(checkpoints.map((c) => git(repository, "show", `${c.workspaceRef}:rope.txt`))).toEqual(["first", "second"]);
  expect(privateRefs(repository).sort()).toEqual(checkpoints.map((c) => c.workspaceRef).sort());
  expect(checkpoints[0]).toMatchObject({ workspace: { head: git(repository, "rev-parse", "HEAD").trim(), leftOut: [] } });
  const before = stateOf(repository);
  await env.say(thread, "hello");
  expect(stateOf(repository)).toEqual(before);
});

test("a run whose files cannot be kept completes all the same, and its checkpoint says why there are none", async () => {
  const { env, repository, projectId } = await startInRepository();
  const thread = await env.newThread({ projectId });
  writeFileSync(join(repository, ".git", "HEAD"), "damaged");
  expect(await env.say(thread, "hello")).toMatchObject({ status: "completed" });
  expect(env.threads.checkpoints(thread)).toMatchObject([
    { workspaceRef: null, workspace: null, workspaceNote: expect.stringContaining("git") },
  ]);
});

test("a fork at a checkpoint that is retold is told which files were changed, and how; a huge difference is cut to the budget", async () => {
  const { env, repository, projectId } = await startInRepository({
    scripts: {
      p1: {
        capabilities: { nativeFork: "none" },
        rules: [
          { match: { regex: "^write (\\S+) ([\\s\\S]*)$" }, steps: [{ fileChange: { path: "$1", content: "$2" } }, { text: "done" }] },
        ],
      },
    },
    config: { providers: { p1: { kind: "scripted", script: "p1.json", handoffBudget: { unit: "chars", limit: 4_000 } } } } as never,
  });
  const source = await env.newThread({ projectId });
  await env.say(source, "write rope.txt changed");
  writeFileSync(join(repository, "large.txt"), "a line of the large file\n".repeat(500));
  await env.say(source, "write new.txt new");
  for (const [at, checkpoint] of env.threads.checkpoints(source).entries()) {
    const { threadId } = await env.send({ type: "thread.fork", threadId: source, at: { kind: "checkpoint", checkpointId: checkpoint.id } });
    await env.say(threadId, "go on");
    const told = env.inputs().at(-1)?.context.join("\n") ?? "";
    expect(told).toContain("M rope.txt");
    expect(told.length).toBeLessThanOrEqual(4_000);
    expect(told).toContain(at === 0 ? "The differences:" : "The beginning of the differences:");
    expect(told.includes("A large.txt")).toBe(at === 1);
    expect(readFileSync(join(worktreeOf(env, threadId), "rope.txt"), "utf8")).toBe("changed");
  }
});

test("a fork at a checkpoint whose files somebody removed from the repository fails its run, and says so", async () => {
  const { env, repository, projectId } = await startInRepository();
  const source = await env.newThread({ projectId });
  await env.say(source, "write rope.txt changed");
  for (const ref of privateRefs(repository)) git(repository, "update-ref", "-d", ref);
  rmSync(join(repository, "rope.txt"));
  git(repository, "gc", "-q", "--prune=now");
  const { threadId } = await env.send({ type: "thread.fork", threadId: source, at: { kind: "latest_stable" } });
  expect(await env.say(threadId, "go on")).toMatchObject({ status: "failed", error: { reason: "snapshot_gone" } });
});
