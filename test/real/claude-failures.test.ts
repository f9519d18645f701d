import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { hasEntry, sessionFile } from "../../services/providers/claude/session-file.ts";
import { agentsOf, bash, claudeWorld, fullAccess, never, processesOf, silence } from "../support/claude-world.ts";
import { answers, whenAsked } from "../support/messages-endpoint.ts";
import { dummyClaudeKey } from "../support/real-claude.ts";
import { input, runTurn, TurnLog } from "../support/turn-log.ts";

const forEver = whenAsked("FOREVER", bash("touch begun; while true; do sleep 0.1; done"), answers("done"));

describe("failures", () => {
  const expected: [number, string, string][] = [
    [401, "provider_unavailable", "login_required"],
    [403, "provider_unavailable", "access_denied"],
    [404, "model_unavailable", "model_not_found"],
    [429, "provider_unavailable", "usage_limit"],
    [400, "invalid_request", "provider_rejected_input"],
    [500, "provider_unavailable", "provider_overloaded"],
    [529, "provider_unavailable", "provider_overloaded"],
  ];

  it("What the model's endpoint refuses fails the turn with what a person can do, and the conversation goes on", async () => {
    const { adapter, start } = await claudeWorld(
      ...expected.map(([status]) => whenAsked(`E${status}.`, { kind: "status", status, message: `told ${status}` })),
    );
    const session = await start(adapter());
    for (const [status, code, reason] of expected) {
      const { ended, log } = await runTurn(session, `E${status}.`);
      expect(ended).toMatchObject({ ending: "failed", error: { code, reason, message: expect.stringContaining("Claude: ") } });
      expect(ended.error?.hint).not.toBe("");
      expect(log.items).toEqual([]);
    }
    expect((await runTurn(session, "fine")).ended.ending).toBe("completed");
  });

  it("An endpoint that cannot be reached fails the turn", async () => {
    const { endpoint, adapter, start } = await claudeWorld();
    const session = await start(adapter());
    await endpoint[Symbol.asyncDispose]();
    expect((await runTurn(session, "hello")).ended).toMatchObject({ ending: "failed", error: { reason: "endpoint_unreachable" } });
  });

  it("A missing key is told as a missing login", async () => {
    const { claude, adapter, start } = await claudeWorld();
    delete claude.config.env?.ANTHROPIC_API_KEY;
    expect((await runTurn(await start(adapter()), "hello")).ended).toMatchObject({ ending: "failed", error: { reason: "login_required" } });
  });

  it("R02 A process that is killed ends its turn as failed, leaves nothing that it started, and the next opening goes on in a new process", async () => {
    const { claude, adapter, start, resume } = await claudeWorld(forEver);
    const on = adapter();
    const session = await start(on);
    await runTurn(session, "before");
    const log = new TurnLog();
    await session.startTurn(input("FOREVER"), log.sink, never);
    await expect.poll(() => existsSync(join(claude.workspace, "begun"))).toBe(true);
    for (const pid of agentsOf(claude)) process.kill(pid, "SIGKILL");

    expect(await log.ended()).toMatchObject({ ending: "failed", error: { code: "provider_unavailable", reason: "provider_process_died" } });
    expect(log.items).toMatchObject([{ truncated: true, body: { kind: "command" } }]);
    expect(processesOf(claude)).toEqual([]);
    await session.detach();
    expect((await runTurn(await resume(on, session), "after")).ended.ending).toBe("completed");
    expect(log.events.filter(({ type }) => type === "ended")).toHaveLength(1);
  });

  it("An SDK or a binary that is missing or cannot start is told with what to do", async () => {
    const { claude, adapter, start } = await claudeWorld();
    const { sdk } = claude.config;
    claude.config.sdk = claude.folder;
    await expect(start(adapter())).rejects.toMatchObject({
      refusal: { reason: "provider_not_installed", hint: expect.stringMatching(/npm install .*@anthropic-ai\/claude-agent-sdk@/) },
    });
    claude.config.sdk = sdk!;
    claude.config.bin = join(claude.folder, "nowhere");
    await expect(start(adapter())).rejects.toMatchObject({ refusal: { reason: "provider_not_installed" } });
    claude.config.bin = "/bin/false";
    await expect(start(adapter())).rejects.toMatchObject({ openFailed: false, refusal: { reason: "provider_process_died" } });
  });
});

describe("after a crash of ours", () => {
  it("An input that was given is found with its turn, with and without a native ref; one that was not is absent", async () => {
    const { claude, endpoint, adapter, start } = await claudeWorld(silence);
    const on = adapter();
    const session = await start(on);
    const made = (first: string) => input(first, { attemptId: `attempt:${uuidNow()}` });
    const [done, cut] = [made("done"), made("SILENT")];
    const { ended } = await runTurn(session, done);
    const log = new TurnLog();
    await session.startTurn(cut, log.sink, never);
    await expect.poll(() => endpoint.about("SILENT")).toHaveLength(1);
    // Claude writes down a moment later than it asks; what it was killed before it wrote, its session does not know.
    const file = () => sessionFile(claude.home, session.nativeRef.id) ?? "";
    await expect.poll(() => hasEntry(file(), cut.attemptId.replace("attempt:", ""))).toBe(true);
    for (const pid of agentsOf(claude)) process.kill(pid, "SIGKILL");
    await log.ended();
    const fresh = adapter(true);
    const query = { cwd: claude.workspace, threadId: "thread:test", nativeRef: session.nativeRef };
    const found = { outcome: "accepted", nativeRef: session.nativeRef };
    expect(await fresh.lookup({ ...query, attemptId: done.attemptId })).toEqual({ ...found, turnRef: ended.turnRef, ending: null });
    expect(await fresh.lookup({ ...query, attemptId: cut.attemptId })).toMatchObject(found);
    expect(await fresh.lookup({ ...query, nativeRef: null, attemptId: cut.attemptId })).toMatchObject(found);
    const other = `attempt:${uuidNow()}`;
    expect(await fresh.lookup({ ...query, attemptId: other })).toEqual({ outcome: "absent" });
    expect(await fresh.lookup({ ...query, nativeRef: null, attemptId: other })).toEqual({ outcome: "absent" });
    const gone = { id: "99999999-9999-4999-8999-999999999999", strength: "strong" as const };
    expect(await fresh.lookup({ ...query, nativeRef: gone, attemptId: other })).toEqual({ outcome: "unknown" });
  });
});

describe("processes", () => {
  it("Another process may write once a session is detached, and not before", async () => {
    const { adapter, start, resume } = await claudeWorld();
    const [one, two] = [adapter(), adapter()];
    const session = await start(one);
    await runTurn(session, "first");
    await expect(resume(two, session)).rejects.toMatchObject({ openFailed: false, refusal: { reason: "native_thread_in_use" } });
    await session.detach();
    await session.detach();
    expect((await runTurn(await resume(two, session), "second")).ended.ending).toBe("completed");
  });

  it("Closing ends the processes and the turns in them, and nothing can be opened afterwards", async () => {
    const { claude, endpoint, adapter, start } = await claudeWorld(silence);
    const on = adapter();
    const session = await start(on);
    const log = new TurnLog();
    await session.startTurn(input("SILENT"), log.sink, never);
    await expect.poll(() => endpoint.about("SILENT")).toHaveLength(1);
    await on.close();
    expect(processesOf(claude)).toEqual([]);
    expect(await log.ended()).toMatchObject({ ending: "interrupted", error: null });
    await expect(start(on)).rejects.toMatchObject({ refusal: { reason: "provider_closed" } });
  });

  it("A process that does not react is ended all the same", async () => {
    const { claude, adapter, start } = await claudeWorld();
    const on = adapter();
    await start(on);
    for (const pid of agentsOf(claude)) process.kill(pid, "SIGSTOP");
    await on.close();
    expect(processesOf(claude)).toEqual([]);
  });

  it("Neither the process nor what it started outlives ours when ours is killed in the middle of a turn", async () => {
    const { claude } = await claudeWorld(forEver);
    const host = hostOf(claude);
    await expect.poll(() => existsSync(join(claude.workspace, "begun")), { timeout: 90_000 }).toBe(true);
    expect(processesOf(claude).length).toBeGreaterThan(1);
    host.kill("SIGKILL");
    await once(host, "exit");
    await expect.poll(() => processesOf(claude), { timeout: 20_000 }).toEqual([]);
  });

  it("What an earlier life of ours left is ended before anything is opened or looked up", async () => {
    const { claude, adapter, start } = await claudeWorld();
    const mark = "0197f000-0000-7000-8000-00000000abcd";
    const left = spawn("/bin/sleep", ["600"], { env: { HOME: claude.folder, ROPEWALK_AGENT: mark }, stdio: "ignore" });
    mkdirSync(join(claude.stateDir, "agents"), { recursive: true });
    writeFileSync(join(claude.stateDir, "agents", mark), "");
    const gone = once(left, "exit");
    await start(adapter());
    expect((await gone)[1]).toBe("SIGKILL");
    expect(existsSync(join(claude.stateDir, "agents", mark))).toBe(false);
  });

  it("The key is in no file that the adapter writes", async () => {
    const { claude, adapter, start } = await claudeWorld(
      whenAsked("E401.", { kind: "status", status: 401, message: `key ${dummyClaudeKey}` }),
    );
    const on = adapter();
    const session = await start(on);
    const { ended } = await runTurn(session, "E401.");
    expect(JSON.stringify(ended)).not.toContain(dummyClaudeKey);
    await on.close();
    const files = readdirSync(claude.stateDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    for (const file of files) expect(readFileSync(join(file.parentPath, file.name), "utf8")).not.toContain(dummyClaudeKey);
  });

  function hostOf(claude: Awaited<ReturnType<typeof claudeWorld>>["claude"]) {
    const adapterUrl = pathToFileURL(join(import.meta.dirname, "../../services/providers/claude/adapter.ts")).href;
    const options = { instance: "claude", config: claude.config, stateDir: claude.stateDir };
    const open = { kind: "new", cwd: claude.workspace, model: null, modes: fullAccess, threadId: "thread:test" };
    const program = `
      const { createClaudeAdapter } = await import(${JSON.stringify(adapterUrl)});
      const session = await createClaudeAdapter(${JSON.stringify(options)}).open(${JSON.stringify(open)}, new AbortController().signal);
      await session.startTurn(${JSON.stringify(input("FOREVER"))}, () => {}, new AbortController().signal);
      setInterval(() => {}, 1_000);
    `;
    return spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "inherit" });
  }
});

/** A version 7 uuid of this moment, as our attempts have them. */
function uuidNow(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  const rest = crypto.randomUUID();
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(15)}`;
}
