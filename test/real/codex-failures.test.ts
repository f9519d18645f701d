import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createCodexAdapter } from "../../services/providers/codex/adapter.ts";
import { readRecording, recorder, replay } from "../support/codex-recording.ts";
import { onKill, type ScenarioName, type Seen, scenarios } from "../support/codex-scenarios.ts";
import { codexWorld, fullAccess, never, processesOf, silence } from "../support/codex-world.ts";
import { when } from "../support/model-endpoint.ts";
import { input, runTurn, TurnLog } from "../support/turn-log.ts";

describe("failures", () => {
  const statuses = [401, 403, 404, 429, 400, 500].map((status) =>
    when(`E${status}.`, { kind: "status", status, message: `told ${status}` }),
  );
  const expected: [number, string, string][] = [
    [401, "provider_unavailable", "login_required"],
    [403, "provider_unavailable", "access_denied"],
    [404, "model_unavailable", "model_not_found"],
    [429, "provider_unavailable", "usage_limit"],
    [400, "invalid_request", "provider_rejected_input"],
    [500, "provider_unavailable", "provider_overloaded"],
  ];

  it("What the model's endpoint refuses fails the turn with what a person can do, and the conversation goes on", async () => {
    const { adapter, start } = await codexWorld(...statuses);
    const session = await start(adapter());
    for (const [status, code, reason] of expected) {
      const { ended } = await runTurn(session, `E${status}.`);
      expect(ended).toMatchObject({ ending: "failed", error: { code, reason } });
      expect(ended.error?.hint).not.toBe("");
    }
    expect((await runTurn(session, "fine")).ended.ending).toBe("completed");
  });

  it("An endpoint that cannot be reached fails the turn instead of being retried for ever", async () => {
    const { endpoint, adapter, start } = await codexWorld();
    const session = await start(adapter());
    await endpoint[Symbol.asyncDispose]();
    expect((await runTurn(session, "hello")).ended).toMatchObject({ ending: "failed", error: { reason: "endpoint_unreachable" } });
  });

  it("A missing key is told as a missing login", async () => {
    const { codex, adapter, start } = await codexWorld();
    delete codex.config.env?.FAKE_KEY;
    expect((await runTurn(await start(adapter()), "hello")).ended).toMatchObject({ ending: "failed", error: { reason: "login_required" } });
  });

  it("R02 A process that is killed ends its turns as failed, and the next opening goes on in a new process", async () => {
    const { codex, adapter, start, resume } = await codexWorld(when("HALF", { kind: "silence", afterDelta: "half" }));
    const on = adapter();
    const session = await start(on);
    const other = await start(on);
    await runTurn(session, "before");
    const log = new TurnLog();
    await session.startTurn(input("HALF"), log.sink, never);
    await log.until(({ type }) => type === "progress");
    const [pid = 0] = processesOf(codex);
    process.kill(pid, "SIGKILL");

    expect(await log.ended()).toMatchObject({ ending: "failed", error: { code: "provider_unavailable", reason: "provider_process_died" } });
    expect(log.items).toMatchObject([{ truncated: true }]);
    await expect(other.startTurn(input("x"), log.sink, never)).rejects.toMatchObject({ refusal: { reason: "provider_process_died" } });
    await session.detach();
    expect((await runTurn(await resume(on, session), "after")).ended.ending).toBe("completed");
    expect(log.events.filter(({ type }) => type === "ended")).toHaveLength(1);
  });

  it("A binary that is missing or cannot start is told with what to do", async () => {
    const { codex, adapter, start } = await codexWorld();
    codex.config.bin = join(codex.folder, "nowhere");
    await expect(start(adapter())).rejects.toMatchObject({
      refusal: { reason: "provider_not_installed", hint: expect.stringContaining("npm install") },
    });
    codex.config.bin = "/bin/false";
    await expect(start(adapter())).rejects.toMatchObject({ openFailed: false, refusal: { reason: "provider_process_died" } });
  });
});

describe("after a crash of ours", () => {
  it("An input that was given is found with its turn and how it ended; one that was not is absent", async () => {
    const { codex, endpoint, adapter, start } = await codexWorld(silence, when("E401.", { kind: "status", status: 401, message: "no" }));
    const on = adapter();
    const session = await start(on);
    const [done, failed, cut] = [input("done"), input("E401."), input("SILENT")];
    const { turnRef } = await runTurn(session, done);
    await runTurn(session, failed);
    const log = new TurnLog();
    await session.startTurn(cut, log.sink, never);
    await expect.poll(() => endpoint.about("SILENT")).toHaveLength(1);
    const query = { cwd: codex.workspace, threadId: "thread:test", nativeRef: session.nativeRef };

    expect(await on.lookup({ ...query, attemptId: cut.attemptId })).toMatchObject({ outcome: "accepted", ending: null });
    process.kill(processesOf(codex)[0]!, "SIGKILL");
    await log.ended();
    const fresh = adapter();
    expect(await fresh.lookup({ ...query, attemptId: done.attemptId })).toEqual({
      outcome: "accepted",
      nativeRef: session.nativeRef,
      turnRef,
      ending: "completed",
    });
    expect(await fresh.lookup({ ...query, attemptId: failed.attemptId })).toMatchObject({ outcome: "accepted", ending: "failed" });
    expect(await fresh.lookup({ ...query, attemptId: cut.attemptId })).toMatchObject({ outcome: "accepted", ending: "interrupted" });
    expect(await fresh.lookup({ ...query, attemptId: "attempt:never" })).toEqual({ outcome: "absent" });
  });

  it("Without a native ref the input is found in its folder; what is found nowhere is unknown", async () => {
    const { codex, adapter, start } = await codexWorld();
    const on = adapter();
    const given = input("hello");
    const session = await start(on);
    await runTurn(session, given);
    await runTurn(await start(on), "another");
    const query = { cwd: codex.workspace, threadId: "thread:test", nativeRef: null };
    expect(await on.lookup({ ...query, attemptId: given.attemptId })).toMatchObject({ outcome: "accepted", nativeRef: session.nativeRef });
    expect(await on.lookup({ ...query, attemptId: "attempt:never" })).toEqual({ outcome: "unknown" });
    const gone = { id: "01970000-0000-7000-8000-000000000000", strength: "strong" as const };
    expect(await on.lookup({ ...query, nativeRef: gone, attemptId: "attempt:never" })).toEqual({ outcome: "unknown" });
  });
});

describe("recordings", () => {
  /** What does not differ from one run to the next. */
  const shapeOf = (seen: Seen) => {
    const own = (key: string, value: unknown) =>
      ["nativeId", "requestId", "nativeRef", "turnRef", "stderr"].includes(key) ? undefined : value;
    const events = Object.entries(seen).map(([step, told]) => [
      step,
      Array.isArray(told) ? told.filter(({ type }) => type !== "alive") : told,
    ]);
    return JSON.stringify(events, own, 1);
  };

  for (const name of Object.keys(scenarios) as ScenarioName[]) {
    it(`The binary still does what the default suite replays: ${name}`, async () => {
      const { rules, play } = scenarios[name];
      const { codex, endpoint } = await codexWorld(...rules);
      const { start, children } = recorder([]);
      onKill.current = async () => children.at(-1)?.kill("SIGKILL");
      const options = { instance: "codex", config: codex.config, stateDir: codex.stateDir };
      const real = createCodexAdapter({ ...options, startChild: start });
      const recorded = createCodexAdapter({ ...options, startChild: replay(readRecording(name)).start });
      onTestFinished(async () => {
        await Promise.all([real.close(), recorded.close()]);
      });
      const seen = shapeOf(await play(real, codex.workspace));
      const expected = shapeOf(await play(recorded, codex.workspace));
      expect(seen.replaceAll(codex.workspace, "/workspace").replaceAll(endpoint.baseUrl, "http://127.0.0.1:1/v1")).toBe(expected);
    });
  }
});

describe("processes", () => {
  it("Another process may write once a session is detached, and not before", async () => {
    const { adapter, start, resume } = await codexWorld();
    const [one, two] = [adapter(), adapter()];
    const session = await start(one);
    await runTurn(session, "first");
    await expect(resume(two, session)).rejects.toMatchObject({ openFailed: false, refusal: { reason: "native_thread_in_use" } });
    await session.detach();
    await session.detach();
    expect((await runTurn(await resume(two, session), "second")).ended.ending).toBe("completed");
  });

  it("Closing ends the process and the turns in it, and nothing can be opened afterwards", async () => {
    const { codex, endpoint, adapter, start } = await codexWorld(silence);
    const on = adapter();
    const session = await start(on);
    const log = new TurnLog();
    await session.startTurn(input("SILENT"), log.sink, never);
    await expect.poll(() => endpoint.about("SILENT")).toHaveLength(1);
    expect(processesOf(codex)).toHaveLength(1);
    await on.close();
    expect(processesOf(codex)).toEqual([]);
    expect(await log.ended()).toMatchObject({ ending: "interrupted", error: null });
    await expect(start(on)).rejects.toMatchObject({ refusal: { reason: "provider_closed" } });
  });

  it("A process that does not react is ended all the same", async () => {
    const { codex, adapter, start } = await codexWorld();
    const on = adapter();
    await start(on);
    const [pid = 0] = processesOf(codex);
    process.kill(pid, "SIGSTOP");
    await on.close();
    expect(processesOf(codex)).toEqual([]);
  });

  it("The process does not outlive ours when ours is killed", async () => {
    const { codex, endpoint } = await codexWorld(silence);
    const adapterUrl = pathToFileURL(join(import.meta.dirname, "../../services/providers/codex/adapter.ts")).href;
    const options = { instance: "codex", config: codex.config, stateDir: codex.stateDir };
    const open = { kind: "new", cwd: codex.workspace, model: null, modes: fullAccess, threadId: "thread:test" };
    const program = `
      const { createCodexAdapter } = await import(${JSON.stringify(adapterUrl)});
      const session = await createCodexAdapter(${JSON.stringify(options)}).open(${JSON.stringify(open)}, new AbortController().signal);
      await session.startTurn(${JSON.stringify(input("SILENT"))}, () => {}, new AbortController().signal);
    `;
    const host = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "inherit" });
    await expect.poll(() => endpoint.about("SILENT"), { timeout: 20_000 }).toHaveLength(1);
    expect(processesOf(codex)).toHaveLength(1);
    host.kill("SIGKILL");
    await once(host, "exit");
    await expect.poll(() => processesOf(codex), { timeout: 10_000 }).toEqual([]);
  });
});
