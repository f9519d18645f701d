import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { importThreadId } from "../../schemas/ids.ts";
import { statusesOf } from "../../services/cli/demo/story/history.ts";
import { Demo } from "../support/demo.ts";
import { until } from "../support/environments.ts";

// Each starts several processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000 });

const project = fileURLToPath(new URL("../../", import.meta.url));
const importHeader = "Imported conversation history from before this thread ran here.";

function scriptFile(rules: unknown[]): string {
  const dir = mkdtempSync(join(tmpdir(), "rw-script-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = join(dir, "script.json");
  writeFileSync(file, JSON.stringify({ rules }));
  return file;
}

test("the demo tells its story, proves each step in its JSON, and leaves nothing behind", async () => {
  const demo = new Demo(["--json"]);
  expect(await demo.ended).toEqual({ code: 0, signal: null });
  expect(demo.leftovers()).toEqual([]);
  const { record } = demo;
  expect(record.ok).toBe(true);
  expect(record.steps.map((s) => [s.id, s.ok, s.failed])).toEqual(
    [
      ...["conversation", "fork", "fork_run", "switch", "explore", "merge_back", "merged"],
      ...["import", "import_repeat", "go_on", "spawn", "result"],
    ].map((id) => [id, true, []]),
  );

  const transfers = (type: string, environment: string) =>
    record.transfers
      .filter((t) => t.type === type && t.environment === environment)
      .map((t) => [...statusesOf(t.history), t.resolution?.kind]);
  // Forking makes a transfer and nothing else; the first message makes the provider fork.
  expect(demo.step("fork").facts).toMatchObject({ status: "pending", providerThreads: 0, runs: 0, handoffs: 0, providerInputs: 0 });
  expect(demo.step("fork_run").facts).toMatchObject({ opened: "fork", told: [] });
  expect(transfers("fork", "laptop")).toEqual([["pending", "resolved_native", "consumed", "native_fork"]]);
  // The other provider is retold all of it, once.
  const codeword = demo.step("conversation").facts.codeword as string;
  expect(codeword).toMatch(/^KINGFISHER-[0-9A-F]{4}$/);
  expect(transfers("provider_handoff", "laptop")).toEqual([["pending", "resolved_portable", "consumed", "portable_context"]]);
  expect(demo.step("switch").facts.told).toEqual([expect.stringContaining(codeword)]);
  // What comes back from the fork is what happened there, and nothing that the conversation knows.
  expect(transfers("merge_back", "laptop")).toEqual([["pending", "resolved_portable", "consumed", "delta_context"]]);
  const merged = demo.step("merged").facts as { delta: string; basePoint: { ordinal: number }; sourcePoint: { ordinal: number } };
  expect(merged.delta).toMatch(/heron-[0-9a-f]{4}/);
  expect(merged.delta).not.toContain("The codeword of this release");
  expect([merged.basePoint.ordinal, merged.sourcePoint.ordinal]).toEqual([2, 3]);

  // The import's thread has the id that follows from what was imported; a repeat changes nothing.
  const [first, again] = record.imports;
  const threadId = importThreadId(first?.source.environmentId ?? "", first?.source.threadId ?? "", first?.handoffId ?? "");
  expect(record.imports.map((i) => [i.threadId, i.created])).toEqual([
    [threadId, true],
    [threadId, false],
  ]);
  expect(first?.requestId).not.toBe(again?.requestId);
  const { before, after } = demo.step("import_repeat").facts as { before: object; after: object };
  expect(before).toEqual({ messages: 8, items: 9, runs: 1, providerTurns: 1 });
  expect(after).toEqual(before);
  // The provider on the box was given the laptop's codeword, under the contract's header.
  const given = demo.step("import").facts.given as string;
  expect(given.startsWith(importHeader)).toBe(true);
  expect(given).toContain(codeword);
  expect(transfers("provider_handoff", "box")).toEqual([["pending", "resolved_portable", "consumed", "portable_context"]]);

  // One task, run on the box with exactly its words; one result, told once.
  expect(record.tasks).toMatchObject([{ status: "completed", results: 1, environment: "laptop", childEnvironmentId: first?.target }]);
  expect(demo.step("spawn").facts.given).toEqual({ context: [], message: "Report, in one line, that the boat has 42 planks." });
  expect(transfers("subagent_spawn", "box")).toEqual([["pending", "resolved_portable", "consumed", "portable_context"]]);
  expect(transfers("subagent_result", "laptop")).toEqual([["pending", "resolved_portable", "consumed", "portable_context"]]);
  expect(record.transfers).toHaveLength(6);

  expect(record.lineage.map((l) => [l.environment, l.relationship, l.parentThreadId === first?.source.threadId])).toEqual([
    ["laptop", null, false],
    ["laptop", "fork", true],
    ["box", "import", true],
    ["box", "subagent", true],
  ]);
  // What a person sees goes beside the document, step by step and then the whole.
  for (const words of [
    " 1  A conversation",
    "12  The conversation's next message",
    "Lineage",
    "└─ subagent: Count the planks",
    "Transfers",
    "waiting → exact (native) → delivered",
  ])
    expect(demo.stderr).toContain(words);
  for (const line of demo.stderr.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});

test("without a nats-server the part with one environment is told, and what is missing; the exit code is 6", async () => {
  const copy = mkdtempSync(join(tmpdir(), "rw-copy-"));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  // A clone of its own, since a project's cache may hold a server.
  for (const part of ["bin", "schemas", "actors", "services", "package.json"])
    cpSync(join(project, part), join(copy, part), { recursive: true });
  symlinkSync(join(project, "node_modules"), join(copy, "node_modules"));
  mkdirSync(join(copy, "home"));
  const env = { PATH: join(copy, "bin"), NATS_SERVER_BIN: "", HOME: join(copy, "home"), XDG_CACHE_HOME: join(copy, "home") };
  const demo = new Demo(["--json", "--keep"], { from: copy, env });
  expect(await demo.ended).toEqual({ code: 6, signal: null });
  const { record } = demo;
  expect(record.ok).toBe(false);
  expect(record.steps.map((s) => [s.id, s.ok])).toEqual(
    ["conversation", "fork", "fork_run", "switch", "explore", "merge_back", "merged"].map((id) => [id, true]),
  );
  expect(record.missing).toMatchObject({ what: "nats-server", install: expect.stringContaining("nats-server") });
  expect(demo.stderr).toContain(`To have one:  ${record.missing?.install}`);
  // Asked to, it leaves its folder, but no process.
  expect(demo.processes()).toEqual([]);
  const [kept] = readdirSync(demo.temporary);
  expect(existsSync(join(demo.temporary, kept ?? "", "laptop", "ropewalk.db"))).toBe(true);
});

test("a NATS_SERVER_BIN that cannot be used is told as what is missing", async () => {
  const demo = new Demo(["--json"], { env: { NATS_SERVER_BIN: join(project, "package.json") } });
  expect(await demo.ended).toEqual({ code: 6, signal: null });
  expect(demo.record.missing?.reason).toContain("package.json");
  expect(demo.leftovers()).toEqual([]);
});

test("a step that does not hold ends the story, is named, and makes the exit code 1", async () => {
  const forgetful = scriptFile([
    { match: { regex: "codeword of this release is (\\S+)\\." }, steps: [{ text: "$1" }] },
    { match: { contains: "What is the codeword" }, steps: [{ text: "I forgot." }] },
  ]);
  const demo = new Demo(["--json", "--script", forgetful]);
  expect(await demo.ended).toEqual({ code: 1, signal: null });
  expect(demo.record.ok).toBe(false);
  expect(demo.record.steps.map((s) => [s.id, s.ok])).toEqual([
    ["conversation", true],
    ["fork", true],
    ["fork_run", false],
  ]);
  expect(demo.record.steps.at(-1)?.failed).toEqual([{ what: "the answer is the codeword", saw: "I forgot." }]);
  expect(demo.stderr).toContain("this did not hold");
  expect(demo.leftovers()).toEqual([]);
});

test("an environment that dies in the middle fails its step, not the demo's own end", async () => {
  const demo = new Demo(["--json", "--script", scriptFile([{ match: {}, steps: [{ hang: true }] }])]);
  await until(() => demo.stderr.includes("gone at the end"), "the environments", 60_000);
  const pid = Number(/laptop \(pid (\d+)\)/.exec(demo.stderr)?.[1]);
  process.kill(pid, "SIGKILL");
  expect(await demo.ended).toEqual({ code: 1, signal: null });
  expect(demo.record).toMatchObject({ ok: false, steps: [{ id: "conversation", ok: false }] });
  expect(demo.leftovers()).toEqual([]);
});

test.each(["SIGINT", "SIGTERM"] as const)("%s in the middle of a run ends the demo with 130, and nothing is left", async (signal) => {
  const demo = new Demo(["--script", scriptFile([{ match: {}, steps: [{ hang: true }] }])]);
  await until(() => demo.stdout.includes("gone at the end"), "the environments", 60_000);
  expect(demo.processes().length).toBe(3);
  demo.child.kill(signal);
  expect(await demo.ended).toEqual({ code: 130, signal: null });
  expect(demo.leftovers()).toEqual([]);
  expect(demo.stderr).toContain("the demo was stopped");
});

test("Ctrl-C while the environments are still starting leaves nothing either", async () => {
  const demo = new Demo([]);
  await until(() => demo.processes().length > 0, "the first process", 60_000);
  demo.child.kill("SIGINT");
  expect(await demo.ended).toEqual({ code: 130, signal: null });
  expect(demo.leftovers()).toEqual([]);
});
