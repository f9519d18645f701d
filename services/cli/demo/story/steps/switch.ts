import { check, same } from "../check.ts";
import { statusesOf } from "../history.ts";
import { say, wasTold } from "../say.ts";
import { need, type Step } from "../step.ts";

/** Another provider takes over the fork: it is told the history, since it knows none of it. */
export const switchProvider: Step = {
  id: "switch",
  title: "The fork is switched to another provider, which is told its history",
  needsBox: false,
  async take({ laptop, providers, answersAreScripted }, memory, words) {
    const threadId = need(memory, "fork");
    await laptop.send({ type: "thread.switch", threadId, provider: { instance: providers.second, model: null } }, "switch");
    const said = await say(laptop, threadId, words.takeOver, "take-over");
    const found = (await laptop.transfersTo(threadId)).filter(
      (t) => t.type === "provider_handoff" && t.targetProvider === providers.second && t.status !== "superseded",
    );
    const view = found[0] === undefined ? null : await laptop.transfer(found[0].id);
    const consumer = said.runs.find((run) => run.id === view?.transfer.consumedByRunId);
    const given = consumer === undefined ? null : await laptop.given(consumer);
    const payload = view?.handoffs[0]?.payload ?? "";
    return {
      facts: {
        transferId: view?.transfer.id,
        from: view?.transfer.sourceProvider,
        to: view?.transfer.targetProvider,
        history: statusesOf(view?.history ?? []),
        resolution: view?.transfer.resolution,
        told: given?.context,
        answer: said.answer,
      },
      checks: [
        same("the run completed at the second provider", [said.last.status, said.provider], ["completed", providers.second]),
        same(
          "there is one switch, from the first to the second",
          found.map((t) => [t.sourceProvider, t.targetProvider]),
          [[providers.first, providers.second]],
        ),
        same("it was retold, then delivered", statusesOf(view?.history ?? []), ["pending", "resolved_portable", "consumed"]),
        same(
          "its source and its target are the same thread",
          [view?.transfer.sourceThreadId, view?.transfer.targetThreadId],
          [threadId, threadId],
        ),
        check("the second provider was given the codeword, in the handoff that is kept", payload.includes(words.codeword)),
        check("it was given that handoff, once, and nothing else", wasTold(said, given, [payload]), given?.context),
        check("the answer is the codeword", !answersAreScripted || said.answer === words.codeword, said.answer),
      ],
      says: said.lines,
    };
  },
};

/** The fork goes on with its new provider and finds something. */
export const explore: Step = {
  id: "explore",
  title: "The second provider explores, and finds something",
  needsBox: false,
  async take({ laptop, providers, answersAreScripted }, memory, words) {
    const threadId = need(memory, "fork");
    const before = (await laptop.transfersTo(threadId)).length;
    const said = await say(laptop, threadId, words.explore, "explore");
    const given = await laptop.given(said.last);
    return {
      facts: { runs: said.runs.map((run) => run.id), answer: said.answer, told: given?.context },
      checks: [
        same("the run completed at the second provider", [said.last.status, said.provider], ["completed", providers.second]),
        check("nothing had to be told again", given?.opened === "resume" && wasTold(said, given, []), given),
        check("no transfer was made", said.uncertain || (await laptop.transfersTo(threadId)).length === before),
        check("the answer names the finding", !answersAreScripted || said.answer.includes(words.finding), said.answer),
      ],
      says: said.lines,
    };
  },
};
