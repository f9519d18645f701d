import { check, same } from "../check.ts";
import { statusesOf } from "../history.ts";
import { say, wasTold } from "../say.ts";
import { need, type Step } from "../step.ts";

/** The fork's finding is to go back to where it came from, with the next message there. */
export const mergeBack: Step = {
  id: "merge_back",
  title: "The fork is merged back: a second transfer that waits",
  needsBox: false,
  async take({ laptop }, memory) {
    const [main, fork] = [need(memory, "main"), need(memory, "fork")];
    const before = (await laptop.runs(main)).length;
    const merged = await laptop.send({ type: "thread.merge_back", threadId: fork }, "merge-back");
    memory.merge = merged.transferId;
    const { transfer, handoffs } = await laptop.transfer(merged.transferId);
    return {
      facts: { transferId: transfer.id, status: transfer.status, from: fork, into: merged.into },
      checks: [
        same("it goes to the thread that the fork came from", merged.into, main),
        same("it waits", [transfer.type, transfer.status, handoffs.length], ["merge_back", "pending", 0]),
        same("no run was started for it", (await laptop.runs(main)).length, before),
      ],
      says: ["it goes with the next message of the conversation"],
    };
  },
};

/** The next message of the conversation brings the difference, and only that. */
export const merged: Step = {
  id: "merged",
  title: "The conversation's next message brings what happened in the fork",
  needsBox: false,
  async take({ laptop, providers, answersAreScripted }, memory, words) {
    const [main, fork] = [need(memory, "main"), need(memory, "fork")];
    const said = await say(laptop, main, words.merged, "merged");
    const { transfer, history, handoffs } = await laptop.transfer(need(memory, "merge"));
    const consumer = said.runs.find((run) => run.id === transfer.consumedByRunId);
    const given = consumer === undefined ? null : await laptop.given(consumer);
    const delta = handoffs[0];
    const payload = delta?.payload ?? "";
    const forkRuns = await laptop.runs(fork);
    const { inherited } = await laptop.thread(fork);
    return {
      facts: {
        transferId: transfer.id,
        history: statusesOf(history),
        kind: delta?.kind,
        basePoint: transfer.basePoint,
        sourcePoint: transfer.sourcePoint,
        delta: payload,
        covers: delta?.covers,
        leftOut: delta?.leftOut.length,
        answer: said.answer,
      },
      checks: [
        same("the run completed at the first provider", [said.last.status, said.provider], ["completed", providers.first]),
        same(
          "it was retold as a difference, then delivered",
          [delta?.kind, ...statusesOf(history)],
          ["delta_context", "pending", "resolved_portable", "consumed"],
        ),
        same(
          "it starts where the fork began",
          [transfer.basePoint?.threadId, transfer.basePoint?.ordinal],
          [inherited?.threadId, inherited?.ordinal],
        ),
        same("it ends at the fork's last run", transfer.sourcePoint.runId, forkRuns.at(-1)?.id),
        check(
          "it covers the fork's own runs and no others",
          forkRuns.every((run) => delta?.covers.some((c) => c.runId === run.id)) && delta?.covers.length === forkRuns.length,
          delta?.covers,
        ),
        check("it tells the finding", payload.includes(words.finding)),
        check("it does not tell the conversation what it said itself", !payload.includes(words.begin)),
        check("the provider was given it, once, and nothing else", wasTold(said, given, [payload]), given?.context),
        check("the answer is the finding", !answersAreScripted || said.answer === words.finding, said.answer),
      ],
      says: said.lines,
    };
  },
};
