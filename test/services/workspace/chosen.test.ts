import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import type { WorkspaceWish } from "../../../schemas/thread.ts";
import { until } from "../../support/environments.ts";
import { git } from "../../support/repository.ts";
import { filesOf, type Rig, startInRepository, stateOf, worktreeOf } from "./rig.ts";

/** A worktree that the person made, beside the repository. */
function madeByHand({ repository }: Rig): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "ropewalk-by-hand-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "mine");
  git(repository, "worktree", "add", "-q", "--detach", path);
  return path;
}

const started = async (rig: Rig): Promise<ThreadId> => {
  const thread = await rig.env.newThread({ projectId: rig.projectId });
  await rig.env.say(thread, "hello");
  return thread;
};
const fork = (threadId: ThreadId, workspace?: WorkspaceWish) =>
  ({ type: "thread.fork", threadId, at: { kind: "latest_stable" }, ...(workspace !== undefined && { workspace }) }) as const;
const spawn = (parentThreadId: ThreadId, workspace?: WorkspaceWish) =>
  ({
    type: "task.spawn",
    parentThreadId,
    prompt: "write child.txt by the child",
    ...(workspace !== undefined && { workspace }),
  }) as const;

test("a fork and a child work in the project's folder when the person says so, and nowhere else than in a worktree when nobody does", async () => {
  const rig = await startInRepository();
  const { env, repository } = rig;
  const source = await started(rig);
  const { threadId: there } = await env.send(fork(source, { strategy: "root" }));
  await env.say(there, "write fork.txt by the fork");
  expect(env.threads.get(there)?.workspace).toEqual({ strategy: "root" });
  const { runId } = await env.send(spawn(source, { strategy: "root" }));
  await env.ended(runId!);
  expect(Object.keys(filesOf(repository))).toEqual(expect.arrayContaining(["fork.txt", "child.txt"]));
  const before = stateOf(repository);
  for (const wish of [undefined, { strategy: "worktree" } as const]) {
    const { threadId } = await env.send(fork(source, wish));
    await env.say(threadId, "write elsewhere.txt text");
    expect(worktreeOf(env, threadId)).not.toBe(repository);
  }
  expect(stateOf(repository)).toEqual(before);
});

test("a fork and a child work in a worktree that is there and named; one that is no worktree of the project's is refused", async () => {
  const rig = await startInRepository();
  const { env } = rig;
  const source = await started(rig);
  const path = madeByHand(rig);
  const { threadId } = await env.send(fork(source, { strategy: "existing", path }));
  await env.say(threadId, "write fork.txt by the fork");
  const { runId } = await env.send(spawn(source, { strategy: "existing", path }));
  await env.ended(runId!);
  expect(Object.keys(filesOf(path))).toEqual(expect.arrayContaining(["fork.txt", "child.txt"]));
  for (const command of [fork, spawn])
    expect(await env.dispatch(command(source, { strategy: "existing", path: tmpdir() }))).toMatchObject({
      ok: false,
      refusal: { reason: "not_a_worktree" },
    });
});

test("two threads never get one worktree: one that was made for a thread is refused to a fork and a child", async () => {
  const rig = await startInRepository();
  const { env } = rig;
  const source = await started(rig);
  const { threadId: holder } = await env.send(fork(source));
  await env.say(holder, "write rope.txt text");
  const taken = { strategy: "existing", path: worktreeOf(env, holder) } as const;
  for (const command of [fork, spawn])
    expect(await env.dispatch(command(source, taken))).toMatchObject({
      ok: false,
      refusal: { reason: "worktree_taken", details: { threadId: holder } },
    });
});

test("an agent cannot choose a folder for a fork or a child, only ask for the worktree that it gets anyway", async () => {
  const rig = await startInRepository({ scripts: { p1: { rules: [{ match: { contains: "wait" }, steps: [{ hang: true }] }] } } });
  const { env } = rig;
  const source = await started(rig);
  const path = madeByHand(rig);
  const { runId } = await env.send({ type: "thread.send", threadId: source, text: "wait" });
  await until(() => env.runs.get(runId)?.status === "running", "the agent to be at work");
  const agent = { caller: { kind: "thread", threadId: source, runId } } as const;
  const before = env.threads.list().length;
  for (const command of [fork, spawn])
    for (const wish of [{ strategy: "root" }, { strategy: "existing", path }] as const)
      expect(await env.dispatch(command(source, wish), agent)).toMatchObject({
        ok: false,
        refusal: { code: "capability_denied", reason: "workspace_not_yours" },
      });
  expect(env.threads.list()).toHaveLength(before);
  const receipt = await env.dispatch(fork(source, { strategy: "worktree" }), agent);
  expect(receipt).toMatchObject({ ok: true });
});
