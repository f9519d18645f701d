import { expect, test } from "vitest";
import { startEnvironment } from "../../support/environments.ts";

/** The commits of a run, by the run's own events in each. */
async function environmentWithCommits() {
  const names: string[] = [];
  const env = await startEnvironment({ onBoundary: (name) => names.push(name) });
  const commits = () =>
    names.filter((n) => n.startsWith("after commit")).map((n) => n.split(" ").filter((event) => event.startsWith("run.")));
  return { env, names, commits: () => commits().filter((events) => events.length > 0) };
}

test("a run that needs nothing retold is prepared in the commit of its message, and its start is committed there", async () => {
  const { env, names, commits } = await environmentWithCommits();
  const threadId = await env.newThread();
  expect(await env.say(threadId, "hello")).toMatchObject({ status: "completed" });
  expect(commits()[0]).toEqual(["run.created", "run.dispatched", "run.claimed", "run.prepared"]);
  expect(names.some((name) => name.includes("effect.started"))).toBe(false);
  expect(names.some((name) => name.includes("effect run.prepare"))).toBe(false);
});

test("a spawned child is prepared in the commit that spawns it, and the run that is told its result in the commit that makes it", async () => {
  const { env, commits } = await environmentWithCommits();
  const threadId = await env.newThread();
  await env.say(threadId, "hello");
  const { taskId } = await env.send({ type: "task.spawn", parentThreadId: threadId, prompt: "look" });
  await env.tasks.wait(taskId);
  await env.say(threadId, "what came of it?");
  expect(commits().filter((events) => events.includes("run.created"))).toEqual(
    Array.from({ length: 3 }, () => ["run.created", "run.dispatched", "run.claimed", "run.prepared"]),
  );
});

test("a run that is queued is prepared in the commit that ends the one before it", async () => {
  const { env, commits } = await environmentWithCommits();
  const threadId = await env.newThread();
  const [, second] = await Promise.all([
    env.send({ type: "thread.send", threadId, text: "one" }),
    env.send({ type: "thread.send", threadId, text: "two" }),
  ]);
  await env.ended(second.runId);
  expect(commits().filter((events) => events.includes("run.ended"))[0]).toEqual(expect.arrayContaining(["run.dispatched", "run.prepared"]));
});

test("a run that is told history is claimed first, and its handoff built outside any commit", async () => {
  const { env, commits } = await environmentWithCommits();
  const threadId = await env.newThread();
  await env.say(threadId, "hello");
  const before = commits().length;
  await env.say(threadId, "and you?", { provider: { instance: "p2", model: null } });
  expect(commits().slice(before, before + 3)).toEqual([["run.created", "run.dispatched"], ["run.claimed"], ["run.prepared"]]);
});
