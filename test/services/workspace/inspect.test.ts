import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import { git } from "../../support/repository.ts";
import { fork, privateRefs, type Rig, startInRepository, worktreeOf, worktreesOf } from "./rig.ts";

async function forked({ env, projectId }: Rig): Promise<{ source: ThreadId; target: ThreadId }> {
  const source = await env.newThread({ projectId });
  await env.say(source, "hello");
  return { source, target: await fork(env, source) };
}

test("a lock that a killed git left on a ref of ours is taken away, and what it held up goes on", async () => {
  const rig = await startInRepository();
  const { target } = await forked(rig);
  const [environment, thread] = [rig.env.id, target].map((id) => id.slice(id.indexOf(":") + 1));
  const lock = join(rig.repository, ".git", "refs", "ropewalk", environment ?? "", thread ?? "", "base.lock");
  mkdirSync(dirname(lock), { recursive: true });
  writeFileSync(lock, "");
  expect(await rig.env.say(target, "hello")).toMatchObject({ status: "completed" });
});

test("what is not as it should be is named, with what to do, and nothing of it is changed", async () => {
  const rig = await startInRepository();
  const { env, repository } = rig;
  const { source, target } = await forked(rig);
  await env.say(target, "hello");
  expect(await env.workspaces.inspect()).toMatchObject({
    checkpoints: 2,
    repositories: 1,
    findings: [],
    worktrees: [{ threadId: target, isWhole: true }],
  });

  const lock = join(repository, ".git", "packed-refs.lock");
  writeFileSync(lock, "");
  utimesSync(lock, 1, 1);
  rmSync(worktreeOf(env, target), { recursive: true });
  const stray = join(env.dir, "worktrees", "01a22dc9-0000-7000-8000-000000000000");
  mkdirSync(stray);
  const said = async () => (await env.workspaces.inspect()).findings.map((f) => `${f.state}: ${f.text}`).sort();
  const expected = [
    expect.stringMatching(/^note: .*01a22dc9.* is left of a thread that is not in this store/),
    expect.stringMatching(`^note: the worktree of ${target} is not there any more`),
    expect.stringMatching(/^wrong: a git command was ended before it let go of .*packed-refs.lock/),
  ];
  expect(await said()).toEqual(expected);
  expect(await said()).toEqual(expected);
  rmSync(lock);
  rmSync(stray, { recursive: true });
  git(repository, "update-ref", "-d", env.threads.checkpoints(source)[0]?.workspaceRef ?? "");
  expect(await said()).toEqual([
    expect.stringMatching(`^note: the files of ${source}'s last checkpoint are gone`),
    expect.stringMatching(`^note: the worktree of ${target} is not there any more`),
  ]);
});

test("worktrees and refs of the user's own, and of another environment, are left alone", async () => {
  const first = await startInRepository();
  const { target } = await forked(first);
  await first.env.say(target, "hello");
  const own = join(first.env.dir, "..", `${first.env.id.slice(4)}-own`);
  git(first.repository, "worktree", "add", "-q", "--detach", own);
  git(first.repository, "update-ref", "refs/ropewalk/somebody/else/base", "HEAD");
  await first.env.send({ type: "thread.delete", threadId: target, discardWork: true });
  const env = await first.env.restart();
  expect(worktreesOf(first.repository)).toContain(own);
  expect(privateRefs(first.repository)).toContain("refs/ropewalk/somebody/else/base");
  expect((await env.workspaces.inspect()).findings).toEqual([]);
  rmSync(own, { recursive: true });
});
