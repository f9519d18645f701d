import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { AccessKind } from "../../../schemas/access.ts";
import type { ThreadId } from "../../../schemas/ids.ts";
import { broadestModes, escalation, InteractionMode, type Modes, RuntimeMode } from "../../../schemas/modes.ts";
import { tools } from "../../../services/mcp/catalogue.ts";
import { until } from "../../support/environments.ts";
import { clientCaller, fresh, type Rig, startMcp, type TestClient } from "./rig.ts";

type Row = { tool: string; access: AccessKind; target: boolean; asked: boolean };

/** The table of docs/access.md, as a reader has it. */
const table: Row[] = [
  ...readFileSync(new URL("../../../docs/access.md", import.meta.url), "utf8").matchAll(/^\| `(\w+)` \| `(\w+)` \| (.+) \| (.+) \|$/gm),
].map(([, tool, access, target, asked]) => ({
  tool: tool ?? "",
  access: AccessKind.parse(access),
  target: target !== "–",
  asked: asked !== "–",
}));
const everyMode: Modes[] = RuntimeMode.options.flatMap((runtimeMode) =>
  InteractionMode.options.map((interactionMode) => ({ runtimeMode, interactionMode })),
);
const words = ({ runtimeMode, interactionMode }: Modes) => `${runtimeMode}/${interactionMode}`;
const denials = { runtime: "runtime_mode_escalation_denied", interaction: "interaction_mode_escalation_denied" };

const script = {
  rules: [
    { match: { contains: "first" }, steps: [{ text: "noted" }] },
    { match: {}, steps: [{ hang: true }] },
  ],
};

test("the documented table has every tool once, with the access that the tool declares", () => {
  expect(table.map(({ tool, access }) => [tool, access]).sort()).toEqual(tools.map(({ name, access }) => [name, access]).sort());
});

/** A thread of each mode with a completed run, its fork with one, and a task; made by the person. */
async function targetsOf({ env }: Rig) {
  const made = new Map<string, Target>();
  for (const modes of everyMode) {
    const threadId = await env.newThread(modes);
    await env.say(threadId, "first");
    const { threadId: fork } = await env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
    await env.say(fork, "first");
    made.set(words(modes), { threadId, fork });
  }
  return made;
}
type Target = { threadId: ThreadId; fork: ThreadId };

/** How each tool is called: on a target, and with modes. */
async function argumentsOf(
  { env }: Rig,
  tool: string,
  { threadId, fork }: Target,
  asked: Partial<Modes>,
  byAgent = false,
): Promise<Record<string, unknown>> {
  const clientRequestId = fresh();
  switch (tool) {
    case "orchestrator_capabilities":
    case "t3_environment_links":
    case "t3_thread_list":
    case "task_status":
      return {};
    case "t3_thread_read":
    case "t3_thread_transfers":
      return { threadId };
    case "t3_thread_wait":
      return { threadId, waitSeconds: 0 };
    case "t3_thread_interrupt":
    case "t3_thread_fork":
      return { threadId, clientRequestId };
    case "t3_thread_send":
      return { threadId, text: "first", clientRequestId };
    // No environment is linked: who is let through hears that, and nothing is changed.
    case "t3_thread_move":
      return { threadId, environmentId: "env:0197f000-0000-7000-8000-00000000abcd", clientRequestId };
    case "t3_thread_merge_back":
      return { threadId: fork, clientRequestId };
    case "task_cancel":
      return { taskId: (await env.send({ type: "task.spawn", parentThreadId: threadId, prompt: "hang" })).taskId, clientRequestId };
    case "t3_thread_launch":
      return { prompt: "first", ...asked, clientRequestId };
    case "t3_thread_import":
      return { handoffId: fresh(), sourceEnvironmentId: "e", sourceThreadId: "t", messages: [{ role: "user", text: "x" }], ...asked };
    case "delegate_task":
      // An agent asks for its own thread, the only one whose run it is in.
      return {
        ...(asked.runtimeMode !== undefined && byAgent ? {} : { parentThreadId: threadId }),
        prompt: "first",
        ...asked,
        clientRequestId,
      };
  }
  throw new Error(`the matrix does not know ${tool}`);
}

/** Refusals that say nothing of access: the caller was let through. */
const letThrough = ["thread_not_interruptible", "parent_not_active"];
/** The same by their reason: a fork that has nothing new, an environment that no link leads to. */
const deadEnds = ["nothing_new", "no_link"];

async function verdictOf(client: TestClient, tool: string, args: object): Promise<string> {
  const result = await client.callTool({ name: tool, arguments: { ...args } });
  if (result.isError !== true) return "allowed";
  const { code, reason } = (result.structuredContent as { error: { code: string; reason: string } }).error;
  return letThrough.includes(code) || deadEnds.includes(reason) ? "allowed" : code;
}

type Caller = { words: string; modes: Modes; client: TestClient };

const kinds = ["client", "thread", "client narrowed by headers", "thread narrowed by headers", "person"] as const;
type Kind = (typeof kinds)[number];
const isAgent = (kind: Kind) => kind.startsWith("thread");

/** A caller of each mode: given it, or broader and narrowed to it by headers; agents in a run that is under way. */
async function callersOf(rig: Rig, kind: Kind): Promise<Caller[]> {
  const callers: Caller[] = [];
  for (const modes of everyMode) {
    const isNarrowed = kind.endsWith("by headers");
    const given = isNarrowed ? broadestModes : modes;
    const headers: Record<string, string> = isNarrowed
      ? { "ropewalk-runtime-mode": modes.runtimeMode, "ropewalk-interaction-mode": modes.interactionMode }
      : {};
    callers.push({ words: words(modes), modes, client: await rig.connect(await tokenOf(rig, kind, given), { headers }) });
  }
  // A person has every mode, and only one.
  return kind === "person" ? callers.slice(-1) : callers;
}

async function tokenOf(rig: Rig, kind: Kind, modes: Modes): Promise<string> {
  if (kind === "person") return rig.let({ kind: "user" });
  if (!isAgent(kind)) return rig.let(clientCaller({ maxModes: modes }));
  const threadId = await rig.env.newThread(modes);
  const { runId } = await rig.env.send({ type: "thread.send", threadId, text: "hang" });
  await until(() => rig.env.runs.get(runId)?.status === "running");
  return rig.tokens.make({ threadId, instance: "p1" });
}

test.each(kinds)(
  "every tool, called by a %s: every mode of the caller against every mode of the target and every mode asked for",
  async (kind) => {
    const rig = await startMcp({ scripts: { p1: script } });
    const callers = await callersOf(rig, kind);
    const targets = await targetsOf(rig);
    const broadest = everyMode.at(-1)!;
    const seen: string[] = [];
    const expected: string[] = [];
    const hold = async (tool: string, caller: Caller, other: Modes, checked: boolean, at: Modes, wish: Partial<Modes>) => {
      const beyond = checked ? escalation(other, caller.modes) : null;
      const name = `${tool}, ${caller.words} on ${words(at)} asking for ${JSON.stringify(wish)}:`;
      const place = expected.push(`${name} ${beyond === null ? "allowed" : denials[beyond]}`) - 1;
      const args = await argumentsOf(rig, tool, targets.get(words(at))!, wish, isAgent(kind));
      seen[place] = `${name} ${await verdictOf(caller.client, tool, args)}`;
    };
    // Those of one caller at once; each has its own place in the lists.
    for (const { tool, target, asked } of table)
      for (const caller of callers)
        await Promise.all(
          everyMode.flatMap((other) => [
            hold(tool, caller, other, target, other, {}),
            // Where there is a target, its modes bound what can be asked for, too: it is one that the caller may use.
            ...(asked ? [hold(tool, caller, other, true, target ? caller.modes : broadest, other)] : []),
          ]),
        );
    expect(seen).toEqual(expected);
    const each = callers.length * everyMode.length;
    expect(seen.length).toBe(table.length * each + table.filter((row) => row.asked).length * each);
    expect(rig.errors).toEqual([]);
  },
  120_000,
);

describe.each(["given", "left by a header"] as const)("access that is %s", (how) => {
  const callers = ["client", "thread"] as const;
  const rows = table.flatMap((row) => callers.map((kind) => ({ ...row, kind })));

  /** A caller with these kinds of access and every mode. */
  async function withAccess(rig: Rig, kind: (typeof callers)[number], access: AccessKind[]): Promise<TestClient> {
    const headers: Record<string, string> = how === "given" ? {} : { "ropewalk-access": access.join(",") };
    if (kind === "client") return rig.connect(rig.let(clientCaller(how === "given" ? { access } : {})), { headers });
    const threadId = await rig.env.newThread(broadestModes);
    const { runId } = await rig.env.send({ type: "thread.send", threadId, text: "hang" });
    await until(() => rig.env.runs.get(runId)?.status === "running");
    // What a thread's token gives is all kinds; a caller that an embedder vouches for may have less.
    const token = how === "given" ? rig.let({ kind: "thread", threadId, runId, access }) : rig.tokens.make({ threadId, instance: "p1" });
    return rig.connect(token, { headers });
  }

  test.each(rows)("$tool: a $kind without its kind is refused, one with nothing else is let in", async ({ tool, access, kind }) => {
    const rig = await startMcp({ scripts: { p1: script } });
    const threadId = await rig.env.newThread();
    await rig.env.say(threadId, "first");
    const { threadId: fork } = await rig.env.send({ type: "thread.fork", threadId, at: { kind: "latest_stable" } });
    await rig.env.say(fork, "first");
    const everyOther = AccessKind.options.filter((one) => one !== access);
    const without = await withAccess(rig, kind, everyOther);
    const before = rig.env.threads.list().length;
    const args =
      tool === "task_cancel"
        ? { taskId: "task:0197f000-0000-7000-8000-000000000001", clientRequestId: fresh() }
        : await argumentsOf(rig, tool, { threadId, fork }, {});
    expect(await without.refused(tool, args)).toMatchObject({
      code: "capability_denied",
      reason: "access_not_given",
      details: { needs: access },
    });
    expect(rig.env.threads.list()).toHaveLength(before);
    const only = await withAccess(rig, kind, [access]);
    expect(await verdictOf(only, tool, await argumentsOf(rig, tool, { threadId, fork }, {}))).toBe("allowed");
  });
});

test.each(["link", "system"] as const)("a %s never uses the tools, whoever vouches for it", async (kind) => {
  const rig = await startMcp();
  const link = { kind: "link", linkId: "link:0197f000-0000-7000-8000-00000000abcd", environmentId: rig.env.id } as never;
  const token = rig.let(kind === "link" ? link : { kind });
  const answer = await fetch(rig.url, { method: "POST", headers: { authorization: `Bearer ${token}` } });
  expect(answer.status).toBe(403);
  expect(await answer.json()).toMatchObject({ error: { data: { code: "capability_denied", reason: "not_for_links" } } });
});

test("the deciding step holds a client's access by itself, whatever door its command came through", async () => {
  const rig = await startMcp();
  const caller = clientCaller({ access: ["reads"] });
  const receipt = await rig.env.dispatch({ type: "thread.create" }, { caller });
  expect(receipt).toMatchObject({ ok: false, refusal: { code: "capability_denied", reason: "access_not_given" } });
  expect(rig.env.threads.list()).toEqual([]);
});

test("an agent that is in no run asks for no more than its thread has, and in a run for no more than that was sent with", async () => {
  const rig = await startMcp({ scripts: { p1: script } });
  const threadId = await rig.env.newThread({ runtimeMode: "full-access" });
  const agent = await rig.connect(rig.tokens.make({ threadId, instance: "p1" }));
  const launch = (runtimeMode: string) => verdictOf(agent, "t3_thread_launch", { prompt: "first", runtimeMode, clientRequestId: fresh() });
  expect(await launch("full-access")).toBe("allowed");
  const { runId } = await rig.env.send({ type: "thread.send", threadId, text: "hang", runtimeMode: "auto-accept-edits" });
  await until(() => rig.env.runs.get(runId)?.status === "running");
  expect(await launch("full-access")).toBe("runtime_mode_escalation_denied");
  expect(await launch("auto-accept-edits")).toBe("allowed");
});

describe("headers", () => {
  test("narrow a client and an agent, and never widen them", async () => {
    const rig = await startMcp({ scripts: { p1: script } });
    const threadId = await rig.env.newThread({ runtimeMode: "auto" });
    const narrow = { maxModes: { runtimeMode: "auto", interactionMode: "default" } as const };
    const tokens = [rig.let(clientCaller(narrow)), rig.tokens.make({ threadId, instance: "p1" })];
    for (const token of tokens) {
      const asks = async (headers: Record<string, string>, runtimeMode: string, interactionMode = "default") => {
        const client = await rig.connect(token, { headers });
        return verdictOf(client, "t3_thread_launch", { prompt: "first", runtimeMode, interactionMode, clientRequestId: fresh() });
      };
      expect(await asks({}, "auto")).toBe("allowed");
      expect(await asks({ "ropewalk-runtime-mode": "approval-required" }, "auto-accept-edits")).toBe(denials.runtime);
      expect(await asks({ "ropewalk-runtime-mode": "approval-required" }, "approval-required")).toBe("allowed");
      expect(await asks({ "ropewalk-interaction-mode": "plan" }, "auto")).toBe(denials.interaction);
      expect(await asks({ "ropewalk-interaction-mode": "plan" }, "auto", "plan")).toBe("allowed");
      expect(await asks({ "ropewalk-runtime-mode": "full-access" }, "full-access")).toBe(denials.runtime);
      expect(await asks({ "ropewalk-access": "reads" }, "auto")).toBe("capability_denied");
      expect(await asks({ "ropewalk-access": "reads, starts_threads, writes_threads" }, "auto")).toBe("allowed");
    }
    const reader = await rig.connect(rig.let(clientCaller({ access: ["reads"] })), {
      headers: { "ropewalk-access": "reads,starts_threads" },
    });
    expect((await reader.use("orchestrator_capabilities")).caller).toMatchObject({ access: ["reads"] });
  });

  test("that name no mode are refused before anything else", async () => {
    const rig = await startMcp();
    const token = rig.let(clientCaller());
    for (const headers of [{ "ropewalk-runtime-mode": "root" }, { "ropewalk-access": "everything" }] as Record<string, string>[])
      await expect(rig.connect(token, { headers })).rejects.toThrow();
    const answer = await fetch(rig.url, { method: "POST", headers: { authorization: `Bearer ${token}`, "ropewalk-runtime-mode": "root" } });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { data: { code: "invalid_request", reason: "unknown_narrowing" } } });
  });
});
