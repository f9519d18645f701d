import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ThreadId } from "../../../schemas/ids.ts";
import { type TestEnvironment, until } from "../../support/environments.ts";
import { git } from "../../support/repository.ts";
import { filesOf, fork, makeDirty, type Rig, startInRepository, stateOf, worktreeOf } from "./rig.ts";

const restored = (env: TestEnvironment, threadId: ThreadId) =>
  until(() => env.threads.get(threadId)?.restoring == null, "the worktree to go back");
const undo = async (env: TestEnvironment, threadId: ThreadId, more = {}) => {
  const result = await env.send({ type: "thread.undo", threadId, ...more });
  await restored(env, threadId);
  return result;
};
const statuses = (env: TestEnvironment, threadId: ThreadId) => env.threads.runs(threadId).map((run) => run.status);

/** A fork in which three runs have written. */
async function written(rig: Rig): Promise<{ thread: ThreadId; path: string; states: Record<string, string>[] }> {
  const source = await rig.env.newThread({ projectId: rig.projectId });
  await rig.env.say(source, "remember <0>");
  const thread = await fork(rig.env, source);
  const states = [];
  for (const [name, n] of [
    ["rope.txt", 1],
    ["new.txt", 2],
    ["rope.txt", 3],
  ] as const) {
    await rig.env.say(thread, `write ${name} text <${n}>`);
    states.push(filesOf(worktreeOf(rig.env, thread)));
  }
  return { thread, path: worktreeOf(rig.env, thread), states };
}

test("an undo takes the later runs and the worktree back together, and can be taken back itself", async () => {
  const rig = await startInRepository({ prepare: makeDirty });
  const before = stateOf(rig.repository);
  const { env } = rig;
  const { thread, path, states } = await written(rig);
  const [first] = env.threads.runs(thread);
  git(path, "commit", "-qam", "by the agent");
  expect(await env.workspaces.undoPreview(thread, first!.id)).toMatchObject({
    to: first!.id,
    runs: [{ ordinal: 2 }, { ordinal: 3 }],
    files: [
      { path: "new.txt", change: "update" },
      { path: "rope.txt", change: "update" },
    ],
  });
  expect(await undo(env, thread, { to: first!.id })).toMatchObject({
    to: first!.id,
    workspace: "restored",
    runIds: [expect.any(String), expect.any(String)],
  });
  expect(statuses(env, thread)).toEqual(["completed", "rolled_back", "rolled_back"]);
  expect(filesOf(path)).toEqual(states[0]);
  expect(git(path, "rev-parse", "HEAD")).toBe(git(rig.repository, "rev-parse", "HEAD"));
  expect(env.threads.get(thread)?.latestStable).toMatchObject({ runId: first!.id });

  await env.send({ type: "thread.redo", threadId: thread });
  await restored(env, thread);
  expect(statuses(env, thread)).toEqual(["completed", "completed", "completed"]);
  expect(filesOf(path)).toEqual(states[2]);
  expect(git(path, "log", "-1", "--format=%s").trim()).toBe("by the agent");
  expect(stateOf(rig.repository)).toEqual(before);
});

test("what runs after an undo knows what stands and nothing that was taken back: natively by a fork at that turn", async () => {
  const rig = await startInRepository();
  const { env } = rig;
  const { thread, path } = await written(rig);
  await undo(env, thread);
  await env.say(thread, "write after.txt text <4>");
  const input = env.inputs().at(-1)!;
  expect(input).toMatchObject({ opened: "fork", context: [] });
  expect(readFileSync(join(path, "new.txt"), "utf8")).toBe("text <2>");
  expect(statuses(env, thread)).toEqual(["completed", "completed", "rolled_back", "completed"]);
  expect(await env.dispatch({ type: "thread.redo", threadId: thread })).toMatchObject({
    ok: false,
    refusal: { reason: "nothing_to_redo" },
  });
  // And the next one goes on in that conversation.
  await env.say(thread, "go on");
  expect(env.inputs().at(-1)).toMatchObject({ opened: "resume", native: input.native, context: [] });
});

test("where the provider cannot fork, what stands is retold, and what was taken back is not", async () => {
  const rig = await startInRepository({
    scripts: {
      p1: {
        capabilities: { nativeFork: "none" },
        rules: [
          { match: { regex: "^write (\\S+) ([\\s\\S]*)$" }, steps: [{ fileChange: { path: "$1", content: "$2" } }, { text: "wrote $2" }] },
        ],
      },
    },
  });
  const { env } = rig;
  const { thread } = await written(rig);
  await undo(env, thread);
  await env.say(thread, "go on");
  const told = env.inputs().at(-1)!;
  expect(told.opened).toBe("new");
  const words = told.context.join("\n");
  for (const n of [0, 1, 2]) expect(words).toContain(`<${n}>`);
  expect(words).not.toContain("<3>");
});

test("everything can be taken back: the worktree is as it began", async () => {
  const rig = await startInRepository({ prepare: makeDirty });
  const { thread, path } = await written(rig);
  expect(await undo(rig.env, thread, { to: null })).toMatchObject({ to: null });
  const { "ignored.txt": _i, ".env": _e, ...began } = filesOf(rig.repository);
  expect(filesOf(path)).toEqual(began);
  await rig.env.say(thread, "again");
  expect(rig.env.inputs().at(-1)?.message).toBe("again");
});

test("in the user's own folder only the conversation goes back", async () => {
  const rig = await startInRepository({ prepare: makeDirty });
  const { env, repository } = rig;
  const thread = await env.newThread({ projectId: rig.projectId });
  await env.say(thread, "write rope.txt mine");
  const before = stateOf(repository);
  expect(await env.workspaces.undoPreview(thread, undefined)).toMatchObject({ files: null });
  expect(await undo(env, thread)).toMatchObject({ workspace: "untouched", to: null });
  expect(statuses(env, thread)).toEqual(["rolled_back"]);
  expect(stateOf(repository)).toEqual(before);
});

test("a message sent right after an undo runs in the restored worktree, also one that somebody deleted", async () => {
  const rig = await startInRepository();
  const { env } = rig;
  const { thread, path, states } = await written(rig);
  writeFileSync(join(path, "by-hand.txt"), "not kept by any run");
  const sent = env.send({ type: "thread.undo", threadId: thread });
  const run = await env.say(thread, "hello");
  await sent;
  expect(run.status).toBe("completed");
  expect(filesOf(path)).toEqual(states[1]);
  rmSync(path, { recursive: true });
  await undo(env, thread);
  expect(existsSync(path)).toBe(true);
  expect(filesOf(path)).toEqual(states[1]);
});

test("an undo of a running thread, of nothing, or to a run that is not the thread's is refused", async () => {
  const { env, projectId } = await startInRepository();
  const source = await env.newThread({ projectId });
  const refused = (threadId: ThreadId, more = {}) => env.dispatch({ type: "thread.undo", threadId, ...more });
  expect(await refused(source)).toMatchObject({ ok: false, refusal: { reason: "nothing_to_undo" } });
  const { id } = await env.say(source, "hello");
  expect(await refused(source, { to: id })).toMatchObject({ ok: false, refusal: { reason: "nothing_to_undo" } });
  const forked = await fork(env, source);
  await env.say(forked, "hello");
  expect(await refused(forked, { to: id })).toMatchObject({ ok: false, refusal: { code: "run_not_found" } });
});
