import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProviderSession } from "../../services/providers/contract.ts";
import { asking, bash, claudeWorld, fullAccess, never } from "../support/claude-world.ts";
import { answers, calls, whenAsked } from "../support/messages-endpoint.ts";
import { dummyClaudeKey } from "../support/real-claude.ts";
import { input, runTurn, TurnLog } from "../support/turn-log.ts";

const write = calls("Write", { file_path: "a.txt", content: "hello\n" });
const plan = { runtimeMode: "full-access", interactionMode: "plan" } as const;
const question = (header: string, ...labels: string[]) => ({
  question: `${header}?`,
  header,
  options: labels.map((label) => ({ label, description: label.toLowerCase() })),
  multiSelect: false,
});

describe("approvals and modes", () => {
  const run = whenAsked("RUN", bash("touch made"), answers("done"));

  it("An accepted command runs, a declined one does not and the turn goes on, a cancelled one ends the turn", async () => {
    const { claude, endpoint, adapter, start } = await claudeWorld(run);
    const session = await start(adapter(), asking);
    const made = () => existsSync(join(claude.workspace, "made"));

    const declined = await askedTurn(session, "RUN it", "decline");
    expect(declined.request).toMatchObject({ question: "command", options: ["accept", "accept_for_session", "decline", "cancel"] });
    expect(declined.request.text).toContain(`touch made\nin ${claude.workspace}`);
    expect(declined.ended.ending).toBe("completed");
    expect(declined.log.items).toMatchObject([{ body: { kind: "command", exitCode: null } }, { body: { kind: "assistant_message" } }]);
    expect(endpoint.requests.at(-1)!.outputs.join()).toContain("declined");
    expect(made()).toBe(false);

    expect((await askedTurn(session, "RUN again", "cancel")).ended).toMatchObject({ ending: "interrupted", error: null });
    expect(made()).toBe(false);

    const accepted = await askedTurn(session, "RUN again", "accept");
    expect(accepted.log.items).toMatchObject([{ body: { kind: "command", exitCode: 0 } }, { body: { kind: "assistant_message" } }]);
    expect(accepted.log.events.filter(({ type }) => type === "request_closed")).toHaveLength(1);
    expect(made()).toBe(true);
  });

  it("A command that is accepted for the session is not asked for again in it, and nothing is written down for others", async () => {
    const { claude, adapter, start } = await claudeWorld(whenAsked("TWICE", bash("touch made"), bash("touch made"), answers("done")));
    const { log, ended } = await askedTurn(await start(adapter(), asking), "TWICE", "accept_for_session");
    expect(ended.ending).toBe("completed");
    expect(log.events.filter(({ type }) => type === "request_opened")).toHaveLength(1);
    for (const file of [join(claude.home, "settings.json"), join(claude.workspace, ".claude")]) expect(existsSync(file)).toBe(false);
  });

  it("A file change is asked for with what it writes; accepted it is told as a change, declined as a call that did not succeed", async () => {
    const { claude, adapter, start } = await claudeWorld(whenAsked("WRITE", write, answers("done")));
    const session = await start(adapter(), asking);
    const declined = await askedTurn(session, "WRITE", "decline");
    expect(declined.request).toMatchObject({ question: "file_change", text: expect.stringContaining("+hello") });
    expect(declined.log.items[0]).toMatchObject({ body: { kind: "tool_call", tool: "Write", ok: false } });
    expect(existsSync(join(claude.workspace, "a.txt"))).toBe(false);
    const accepted = await askedTurn(session, "WRITE", "accept");
    expect(accepted.log.items[0]).toMatchObject({ body: { kind: "file_change", changes: [{ change: "add" }] } });
    expect(existsSync(join(claude.workspace, "a.txt"))).toBe(true);
  });

  it("With edits accepted beforehand a change is not asked for, and a command is", async () => {
    const { adapter, start } = await claudeWorld(whenAsked("BOTH", write, bash("env"), answers("done")));
    const session = await start(adapter(), { runtimeMode: "auto-accept-edits", interactionMode: "default" });
    const { log, request } = await askedTurn(session, "BOTH", "decline");
    expect(request.question).toBe("command");
    expect(log.items.map(({ body }) => body.kind)).toEqual(["file_change", "command", "assistant_message"]);
  });

  it("An answer to a request that is not open is refused, and an interrupt closes the open ones", async () => {
    const { adapter, start } = await claudeWorld(run);
    const session = await start(adapter(), asking);
    const log = new TurnLog();
    await session.startTurn(input("RUN"), log.sink, never);
    const { requestId } = await log.asked();
    await expect(session.answer("another", "accept")).rejects.toMatchObject({ refusal: { reason: "unknown_request" } });
    await expect(session.answer(requestId, "perhaps")).rejects.toMatchObject({ refusal: { reason: "unknown_answer" } });
    await session.interrupt();
    await log.ended();
    expect(log.events.filter((event) => "requestId" in event).map(({ type }) => type)).toEqual(["request_opened", "request_closed"]);
    await expect(session.answer(requestId, "accept")).rejects.toMatchObject({ refusal: { reason: "unknown_request" } });
  });

  it("The agent asks a person, with full access too, and is told the answer; several questions take an object", async () => {
    const ask = (...questions: ReturnType<typeof question>[]) => calls("AskUserQuestion", { questions });
    const { endpoint, adapter, start } = await claudeWorld(
      whenAsked("ONE", ask(question("Colour", "Red", "Blue")), answers("noted")),
      whenAsked("TWO", ask(question("Colour", "Red", "Blue"), question("Size", "Small", "Large")), answers("noted")),
    );
    const session = await start(adapter());
    const one = await askedTurn(session, "ONE", "Blue");
    expect(one.request).toMatchObject({
      question: "question",
      options: ["Red", "Blue"],
      text: "Colour: Colour?\n- Red: red\n- Blue: blue",
    });
    expect(endpoint.requests.at(-1)!.outputs.join()).toContain("Blue");
    await askedTurn(session, "TWO", JSON.stringify({ Colour: "Red", Size: "Large" }));
    expect(endpoint.requests.at(-1)!.outputs.join()).toMatch(/Red[\s\S]*Large/);
  });

  it("In plan mode nothing is written or run, the plan is an item, and afterwards the conversation is in its ordinary mode again", async () => {
    const { claude, adapter, start, resume } = await claudeWorld(
      whenAsked("PLAN", calls("ExitPlanMode", { plan: "1. Make it." }), answers("waiting")),
      whenAsked("WRITE", bash("touch made"), write, answers("tried")),
    );
    const on = adapter();
    const session = await start(on, plan);
    const planned = await runTurn(session, "PLAN it");
    expect(planned.log.items.map(({ body }) => body)).toContainEqual({ kind: "plan", content: { text: "1. Make it." } });
    await runTurn(session, "WRITE");
    expect(existsSync(join(claude.workspace, "made")) || existsSync(join(claude.workspace, "a.txt"))).toBe(false);

    await runTurn(await resume(on, session, fullAccess), "WRITE");
    expect(existsSync(join(claude.workspace, "made"))).toBe(true);
  });

  it("A conversation that is opened again with narrower modes works with those, and the wider one is closed", async () => {
    const { adapter, start, resume } = await claudeWorld(run);
    const on = adapter();
    const broad = await start(on, fullAccess);
    await runTurn(broad, "hello");
    const narrow = await resume(on, broad, asking);
    expect((await askedTurn(narrow, "RUN", "decline")).ended.ending).toBe("completed");
    await expect(broad.startTurn(input("late"), () => undefined, never)).rejects.toMatchObject({ refusal: { reason: "session_detached" } });
  });

  it("The key is not in the environment of the agent's commands, nor in that of the agent", async () => {
    const { endpoint, adapter, start } = await claudeWorld(
      whenAsked("ENV", bash("env; tr '\\0' '\\n' </proc/$CLAUDE_PID/environ; cat /proc/$CLAUDE_PID/cmdline"), answers("done")),
    );
    await runTurn(await start(adapter()), "ENV");
    const [printed = ""] = endpoint.requests.at(-1)!.outputs;
    expect(printed).toContain("HOME=");
    expect(printed).toContain("--input-format");
    expect(printed).not.toContain(dummyClaudeKey);
    expect(endpoint.requests.at(-1)!.headers["x-api-key"]).toBe(dummyClaudeKey);
  });

  async function askedTurn(session: ProviderSession, message: string, answer: string) {
    const log = new TurnLog();
    await session.startTurn(input(message), log.sink, never);
    const request = await log.asked();
    await session.answer(request.requestId, answer);
    return { log, request, ended: await log.ended() };
  }
});
