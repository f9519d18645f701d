import { expect, test } from "vitest";
import { startEnvironment } from "../support/environments.ts";

test("a message becomes a run that completes; a fork of it continues natively", async () => {
  const env = await startEnvironment();
  const s = await env.newThread();
  const r1 = await env.say(s, "hello");
  expect(r1).toMatchObject({ status: "completed", ordinal: 1 });
  await env.say(s, "two");
  const { threadId: f, transferId } = await env.send({ type: "thread.fork", threadId: s, at: { kind: "run", runId: r1.id } });
  expect(env.transfers.get(transferId)?.status).toBe("pending");
  const fr = await env.say(f, "in the fork");
  console.log(env.transfers.get(transferId), env.transfers.history(transferId), fr.error);
  expect(env.transfers.get(transferId)?.status).toBe("consumed");
  const x = await env.say(s, "other", { provider: { instance: "p2", model: null } });
  console.log(x.status, x.error, env.inputs("p2").map((i) => i.full));
  const back = await env.say(s, "back", { provider: { instance: "p1", model: null } });
  console.log(back.status, env.inputs("p1").map((i) => [i.opened, i.native, i.full]));
  const m = await env.send({ type: "thread.merge_back", threadId: f });
  const merged = await env.say(s, "merged?");
  console.log(merged.status, merged.error, env.inputs("p1").at(-1)?.full, env.transfers.get(m.transferId)?.status);
  const t = await env.send({ type: "task.spawn", parentThreadId: s, prompt: "child task" });
  const task = await env.tasks.wait(t.taskId);
  console.log(task);
  const after = await env.say(s, "what came of it?");
  console.log(after.status, env.inputs("p1").at(-1)?.full);
});
