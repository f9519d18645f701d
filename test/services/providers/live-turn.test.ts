import { describe, expect, it } from "vitest";
import type { AttemptId, RunId } from "../../../schemas/ids.ts";
import { LiveTurn } from "../../../services/providers/live-turn.ts";
import { MemoryClock } from "../../../services/runtime/memory-clock.ts";

const ids = { runId: "run:1" as RunId, attemptId: "attempt:1" as AttemptId };

function begin() {
  const clock = new MemoryClock(1_000);
  const saved: string[] = [];
  const host = {
    clock,
    report: async () => {},
    keep: () => null,
    saveProgress: (_: RunId, text: string) => saved.push(text),
    leaseExpired() {},
  };
  const turn = new LiveTurn(host, ids, 60_000, () => {});
  turn.accepted();
  const say = (text: string) => turn.take({ type: "progress", text });
  return { clock, saved, turn, say };
}

describe("the unfinished text of a run", () => {
  it("is written in its last state when the agent pauses, not only when it goes on", async () => {
    const { clock, saved, say } = begin();
    for (const text of ["a", "a b", "a b c"]) say(text);
    expect(saved).toEqual(["a"]);
    await clock.advance(250);
    expect(saved).toEqual(["a", "a b c"]);
  });

  it("is not written again once the whole message has come", async () => {
    const { clock, saved, turn, say } = begin();
    say("a");
    say("a b");
    turn.take({ type: "item", body: { kind: "assistant_message", content: { text: "a b" } }, nativeId: null });
    await clock.advance(1_000);
    expect(saved).toEqual(["a"]);
  });

  it("is written when the turn ends before its message is whole, and not after", async () => {
    const { clock, saved, turn, say } = begin();
    say("a");
    say("a b");
    await turn.end("interrupted", null);
    await clock.advance(1_000);
    expect(saved).toEqual(["a", "a b"]);
  });
});
