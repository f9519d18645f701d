import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Receipt } from "../../schemas/command.ts";
import type { TaskId, ThreadId } from "../../schemas/ids.ts";
import type { Grant, GrantKind, LinkConfig } from "../../schemas/link.ts";
import { broadestModes } from "../../schemas/modes.ts";
import { commandAccess } from "../../services/runtime/command-access.ts";
import { until } from "../support/environments.ts";
import { asAgent, familyScript, goOn, spawnAsAgent, taskEnded } from "../support/families.ts";
import { childOf, importOf, importTo, spawnOn } from "../support/link-talk.ts";
import { allGrants, bothFabrics, type LinkedSide, linked, linkedPair, memoryFabric } from "../support/linked.ts";

const fabrics = bothFabrics();
const family = { scripts: { p1: familyScript } };

/** The table of docs/access.md, as a reader has it. */
const table = [
  ...readFileSync(new URL("../../docs/access.md", import.meta.url), "utf8").matchAll(/^\| `(\w+\.\w+)` \| (.+) \| ([^|]+) \|$/gm),
].map(([, command = "", grants = "", whose = ""]) => ({
  command,
  whose,
  grants: [...grants.matchAll(/`(\w+)`/g)].map(([, kind]) => kind as GrantKind),
}));

const grantSets: Grant[][] = [[], ...allGrants.map((grant) => [grant])];

test("the documented table has every public command once", () => {
  expect(table.map(({ command }) => command).sort()).toEqual(Object.keys(commandAccess).sort());
});

type Target = { threadId: ThreadId; runId: string; requestId: string; taskId: TaskId };

/** A thread at work with a task below it: what every command can be about. */
async function targetOf(side: LinkedSide, peer: LinkedSide, whose: "link" | "person", name: string): Promise<Target> {
  const { env } = side;
  let threadId: ThreadId;
  if (whose === "link") {
    const made = await env.dispatch(
      { type: "thread.import", import: importOf(name, { continuationPrompt: "wait for me" }) },
      side.callOf(peer),
    );
    if (!made.ok) throw new Error(made.refusal.message);
    threadId = made.result.threadId as ThreadId;
  } else threadId = (await env.send({ type: "thread.launch", text: "wait for me" })).threadId;
  const run = await until(() => env.threads.runs(threadId).find(({ status }) => status === "waiting"), "it is at work");
  const { taskId } = await env.send({ type: "task.spawn", parentThreadId: threadId, prompt: "wait for me" });
  return { threadId, runId: run.id, requestId: run.openRequests[0]?.requestId ?? "", taskId };
}

function commandFor(type: string, side: LinkedSide, { threadId, runId, requestId, taskId }: Target, name: string): object {
  const provider = { instance: "p1", model: null };
  const more: Record<string, object> = {
    "project.add": { path: side.dir },
    "project.configure": { projectId: side.env.projects.list()[0]?.id },
    "thread.create": {},
    "thread.launch": { text: "go" },
    "thread.send": { threadId, text: "go" },
    "thread.fork": { threadId, at: { kind: "latest_stable" } },
    "thread.switch": { threadId, provider },
    "thread.import": { import: importOf(`${name} again`) },
    "thread.import_to": { threadId, environmentId: side.id, handoffId: name },
    "link.import": { environmentId: side.id, import: importOf(name) },
    "link.revoke": { linkId: side.env.links.list()[0]?.id },
    "link.forget": { linkId: side.env.links.list()[0]?.id },
    "link.rejoin": { linkId: side.env.links.list()[0]?.id },
    "thread.move": { threadId, environmentId: side.id },
    "thread.import_bundle": { bundle: emptyBundle(side, threadId) },
    "thread.rename": { threadId, title: name },
    "thread.set_modes": { threadId, runtimeMode: "approval-required" },
    "thread.mark": { threadId, mark: "archived", on: true },
    "run.answer": { runId, requestId, answer: "yes" },
    "task.spawn": { parentThreadId: threadId, prompt: "look" },
    "task.cancel": { taskId },
    "task.dismiss": { taskId },
  };
  return { type, ...(more[type] ?? { threadId }) };
}

/** Well formed, which is all that is looked at before the fence. */
const emptyBundle = (side: LinkedSide, threadId: ThreadId) => ({
  header: {
    format: "ropewalk-thread",
    version: 1,
    ropewalk: "0",
    environmentId: side.id,
    environmentName: side.name,
    threadId,
    exportedAt: 0,
    modes: broadestModes,
    parts: [threadId],
    unfinishedRuns: 0,
    providerThreads: [],
  },
  records: [],
  end: { records: 0, content: "0".repeat(64), digest: "0".repeat(64) },
});

const outcomeOf = (receipt: Receipt) =>
  receipt.ok || receipt.refusal.code !== "capability_denied" ? "let through" : receipt.refusal.reason;

test.each(grantSets.map((grants) => [grants.map(({ kind }) => kind).join() || "nothing", grants] as const))(
  "a link that was granted %s may do what the table says, and nothing else, whatever it asks",
  async (named, grants) => {
    const { a, b } = await linkedPair(memoryFabric(), { b: family });
    const linkId = b.link(a).id;
    const kinds: string[] = grants.map(({ kind }) => kind);
    for (const { command, grants: needed, whose } of table) {
      const granted = needed.length === 0 || needed.some((kind) => kinds.includes(kind));
      for (const target of ["link", "person"] as const) {
        await b.env.linkDesk.grant(linkId, allGrants);
        const name = `${command} ${named} ${target}`;
        const about = await targetOf(b, a, target, name);
        await b.env.linkDesk.grant(linkId, grants);
        const receipt = await b.env.dispatch(commandFor(command, b, about, name), b.callOf(a));
        const notIts = target === "person" && whose === "its own";
        const expected =
          whose === "not for links" ? "not_for_links" : !granted ? "not_granted" : notIts ? "not_started_by_link" : "let through";
        expect([command, target, outcomeOf(receipt)]).toEqual([command, target, expected]);
      }
    }
  },
  120_000,
);

describe.each(fabrics)("budgets of a link, %s", (_name, fabric) => {
  const within = (bounds: Partial<Extract<Grant, { kind: "spawn" }>>): LinkConfig["grants"] => [
    { kind: "threadImport", maxModes: broadestModes, ...bounds },
    { kind: "spawn", maxModes: broadestModes, ...bounds },
  ];

  test("beyond the number of threads that may be at work a spawn is refused as its answer; when one has ended there is room", async () => {
    const { a, b } = await linkedPair(fabric(), { b: { ...family, grants: { a: within({ maxOpen: 1 }) } } });
    const first = await spawnOn(a, b, "wait for me");
    const child = await until(() => {
      const found = childOf(b, first.taskId);
      return found !== undefined && b.env.threads.runs(found.id)[0]?.status === "waiting" && found;
    }, "the first is at work");
    const second = await spawnOn(a, b, "look");
    expect(await taskEnded(a.env, second.taskId)).toMatchObject({ status: "failed", error: { reason: "limit_exceeded" } });
    const imported = await importTo(a, b, "h", { continuationPrompt: "look" });
    expect(imported.answer).toMatchObject({ ok: true, result: { created: true, continuation: "refused" } });
    // Nor may its agent, but the person may.
    const parent = { threadId: child.id, runId: child.activeRunId as never };
    expect(await b.env.dispatch({ type: "task.spawn", parentThreadId: child.id, prompt: "look" }, asAgent(parent))).toMatchObject({
      ok: false,
      refusal: { reason: "limit_exceeded" },
    });
    expect((await b.env.say(imported.threadId, "look")).status).toBe("completed");
    await goOn(b.env, parent);
    await taskEnded(a.env, first.taskId);
    const third = await spawnOn(a, b, "look");
    expect((await taskEnded(a.env, third.taskId)).status).toBe("completed");
  });

  test("S11 a link's subagents are nested no deeper than its grant says, however deep others may be", async () => {
    const { a, b } = await linkedPair(fabric(), { b: { ...family, grants: { a: within({ maxDepth: 1 }) } } });
    const { taskId } = await spawnOn(a, b, "wait for me");
    const child = await until(() => {
      const found = childOf(b, taskId);
      return found !== undefined && b.env.threads.runs(found.id)[0]?.status === "waiting" && found;
    }, "it is at work");
    const deeper = { type: "task.spawn", parentThreadId: child.id, prompt: "look" };
    for (const call of [asAgent({ threadId: child.id, runId: child.activeRunId as never }), b.callOf(a)])
      expect(await b.env.dispatch(deeper, call)).toMatchObject({ ok: false, refusal: { reason: "limit_exceeded" } });
  });

  test("a thread that a person has adopted is the environment's own: its link changes it no more, and it may go on elsewhere", async () => {
    const { a, b, c } = await linked(fabric(), { a: {}, b: family, c: {} }, [
      ["a", "b"],
      ["b", "c"],
    ]);
    const { threadId } = await importTo(a, b, "h");
    const parent = { threadId, runId: null as never };
    const chain = { type: "thread.import_to", threadId, environmentId: c.id, handoffId: "x" };
    for (const call of [{}, b.callOf(a), asAgent(parent)])
      expect(await b.env.dispatch(chain, call)).toMatchObject({ ok: false, refusal: { code: "capability_denied" } });
    for (const call of [b.callOf(a), asAgent(parent)])
      expect(await b.env.dispatch({ type: "thread.adopt", threadId }, call)).toMatchObject({ refusal: { code: "capability_denied" } });
    const modes = b.env.threads.get(threadId)?.modes;
    expect(await b.env.send({ type: "thread.adopt", threadId })).toMatchObject({ from: { environmentId: a.id } });
    expect(b.env.threads.get(threadId)).toMatchObject({ linkOrigin: null, modes });
    expect(await b.env.dispatch({ type: "thread.rename", threadId, title: "mine" }, b.callOf(a))).toMatchObject({
      refusal: { reason: "not_started_by_link" },
    });
    expect(await b.env.dispatch(chain)).toMatchObject({ ok: true });
    expect(await b.env.dispatch({ type: "thread.adopt", threadId })).toMatchObject({ refusal: { reason: "not_started_by_link" } });
  });
});

test("what a link has started does nothing more once the link has ended, while its run is being stopped", async () => {
  const { a, b } = await linkedPair(memoryFabric(), { b: family });
  const { taskId } = await spawnOn(a, b, "hang");
  const child = await until(() => {
    const found = childOf(b, taskId);
    return found !== undefined && b.env.threads.runs(found.id)[0]?.status === "running" && found;
  }, "it is at work");
  await b.env.send({ type: "link.revoke", linkId: b.link(a).id });
  const caller = asAgent({ threadId: child.id, runId: child.activeRunId as never });
  for (const command of [
    { type: "thread.create" },
    { type: "thread.rename", threadId: child.id, title: "still here" },
    { type: "thread.import", import: importOf("late") },
  ])
    expect(await b.env.dispatch(command, caller)).toMatchObject({ ok: false, refusal: { reason: "link_ended" } });
  await expect(spawnAsAgent(b.env, caller.caller, "look")).rejects.toMatchObject({ refusal: { reason: "link_ended" } });
});
