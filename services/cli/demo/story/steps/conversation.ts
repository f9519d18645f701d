import { check, same } from "../check.ts";
import { say } from "../say.ts";
import type { Step } from "../step.ts";

/** A conversation of two runs on the laptop, which gets a codeword that nobody else knows. */
export const conversation: Step = {
  id: "conversation",
  title: "A conversation runs on the laptop",
  needsBox: false,
  async take({ laptop, providers, answersAreScripted }, memory, words) {
    const { threadId } = await laptop.send({ type: "thread.create", title: words.title }, "create");
    memory.main = threadId;
    const first = await say(laptop, threadId, words.begin, "begin");
    memory.codewordRun = first.last.id;
    const second = await say(laptop, threadId, words.risks, "risks");
    const transfers = await laptop.transfersTo(threadId);
    return {
      facts: {
        threadId,
        provider: first.provider,
        codeword: words.codeword,
        runs: [...first.runs, ...second.runs].map((run) => ({ id: run.id, ordinal: run.ordinal, status: run.status })),
        answers: [first.answer, second.answer],
      },
      checks: [
        same("both runs completed", [first.last.status, second.last.status], ["completed", "completed"]),
        same("the first provider served them", [first.provider, second.provider], [providers.first, providers.first]),
        check("each completed run has a checkpoint", first.last.checkpointId !== null && second.last.checkpointId !== null),
        check("nothing was handed over", first.uncertain || second.uncertain || transfers.length === 0, transfers.length),
        check("the answer is the codeword", !answersAreScripted || first.answer === words.codeword, first.answer),
      ],
      says: [...first.lines, ...second.lines],
    };
  },
};
