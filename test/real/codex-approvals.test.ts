import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultModes } from "../../schemas/modes.ts";
import type { ProviderSession } from "../../services/providers/contract.ts";
import { asking, codexWorld, fullAccess, never } from "../support/codex-world.ts";
import { say, shell, when } from "../support/model-endpoint.ts";
import { input, runTurn, TurnLog } from "../support/turn-log.ts";

const patch = shell("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch\nEOF");

describe("approvals and modes", () => {
  const run = when("RUN", shell("touch made"), say("done"));

  it("An accepted command runs, a declined one does not and the turn goes on, a cancelled one ends the turn", async () => {
    const { codex, endpoint, adapter, start } = await codexWorld(run);
    const session = await start(adapter(), asking);
    const made = () => existsSync(join(codex.workspace, "made"));

    const declined = await askedTurn(session, "RUN it", "decline");
    expect(declined.request).toMatchObject({ question: "command", options: ["accept", "accept_for_session", "decline", "cancel"] });
    expect(declined.request.text).toContain("touch made");
    expect(declined.ended.ending).toBe("completed");
    expect(declined.log.items).toMatchObject([{ body: { kind: "command", exitCode: null } }, { body: { kind: "assistant_message" } }]);
    expect(endpoint.requests.at(-1)!.outputs.join()).toContain("rejected");
    expect(made()).toBe(false);

    expect((await askedTurn(session, "RUN again", "cancel")).ended.ending).toBe("interrupted");
    expect(made()).toBe(false);

    const accepted = await askedTurn(session, "RUN again", "accept");
    expect(accepted.log.items).toMatchObject([{ body: { kind: "command", exitCode: 0 } }, { body: { kind: "assistant_message" } }]);
    expect(accepted.log.events.filter(({ type }) => type === "request_closed")).toHaveLength(1);
    expect(made()).toBe(true);
  });

  it("A command that is accepted for the session is not asked for again", async () => {
    const { adapter, start } = await codexWorld(when("TWICE", shell("touch made"), shell("touch made"), say("done")));
    const { log, ended } = await askedTurn(await start(adapter(), asking), "TWICE", "accept_for_session");
    expect(ended.ending).toBe("completed");
    expect(log.events.filter(({ type }) => type === "request_opened")).toHaveLength(1);
  });

  it("A file change is asked for with its diff; accepted it is told as a change, declined as a call that did not succeed", async () => {
    const { codex, adapter, start } = await codexWorld(when("PATCH", patch, say("done")));
    const session = await start(adapter(), asking);
    const declined = await askedTurn(session, "PATCH", "decline");
    expect(declined.request).toMatchObject({ question: "file_change", text: expect.stringContaining("hello") });
    expect(declined.log.items[0]).toMatchObject({ body: { kind: "tool_call", tool: "apply_patch", ok: false } });
    expect(existsSync(join(codex.workspace, "a.txt"))).toBe(false);
    const accepted = await askedTurn(session, "PATCH", "accept");
    expect(accepted.log.items[0]).toMatchObject({ body: { kind: "file_change", changes: [{ change: "add" }] } });
    expect(existsSync(join(codex.workspace, "a.txt"))).toBe(true);
  });

  it("An answer to a request that is not open is refused, and an interrupt closes the open ones", async () => {
    const { adapter, start } = await codexWorld(run);
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

  it("In plan mode the agent can ask questions and cannot write; afterwards the thread is in default mode again", async () => {
    const question = {
      id: "colour",
      header: "Colour",
      question: "Which?",
      options: [
        { label: "Red", description: "warm" },
        { label: "Blue", description: "cold" },
      ],
    };
    const { codex, endpoint, adapter, start, resume } = await codexWorld(
      when("ASK", { kind: "tool", name: "request_user_input", arguments: { questions: [question] } }, say("noted")),
      when("WRITE", shell("touch made"), say("tried")),
    );
    const on = adapter();
    const session = await start(on, { runtimeMode: "full-access", interactionMode: "plan" });
    const { request } = await askedTurn(session, "ASK me", "Blue");
    expect(request).toMatchObject({ question: "question", options: ["Red", "Blue"], text: expect.stringContaining("Which?") });
    expect(endpoint.requests.at(-1)!.outputs).toEqual([expect.stringContaining("Blue")]);
    await runTurn(session, "WRITE");
    expect(existsSync(join(codex.workspace, "made"))).toBe(false);

    const back = await resume(on, session, fullAccess);
    await runTurn(back, "WRITE");
    expect(existsSync(join(codex.workspace, "made"))).toBe(true);
    expect(endpoint.requests.at(-1)!.transcript.findLast((line) => line.startsWith("developer: "))).toContain("Default");
  });

  it("A conversation that is opened again with narrower modes works with those", async () => {
    const { adapter, start, resume } = await codexWorld(run);
    const on = adapter();
    const broad = await start(on, fullAccess);
    await runTurn(broad, "hello");
    const narrow = await resume(on, broad, asking);
    expect((await askedTurn(narrow, "RUN", "decline")).ended.ending).toBe("completed");
    await expect(broad.startTurn(input("late"), () => undefined, never)).rejects.toMatchObject({ refusal: { reason: "session_detached" } });
  });

  it("Keys of the provider are not in the environment of the agent's commands", async () => {
    const { endpoint, adapter, start } = await codexWorld(when("ENV", shell("env"), say("done")));
    await runTurn(await start(adapter(), defaultModes), "ENV");
    const [printed = ""] = endpoint.requests.at(-1)!.outputs;
    expect(printed).toContain("HOME=");
    expect(printed).not.toContain("FAKE_KEY");
  });

  async function askedTurn(session: ProviderSession, message: string, answer: string) {
    const log = new TurnLog();
    await session.startTurn(input(message), log.sink, never);
    const request = await log.asked();
    await session.answer(request.requestId, answer);
    return { log, request, ended: await log.ended() };
  }
});
