import { check, same } from "../check.ts";
import { statusesOf } from "../history.ts";
import { say, wasTold } from "../say.ts";
import { need, type Step } from "../step.ts";

/** Forking writes down where the fork comes from, and does nothing else. */
export const fork: Step = {
  id: "fork",
  title: "It is forked: a new thread, and a transfer that waits",
  needsBox: false,
  async take({ laptop }, memory, words) {
    const source = await laptop.thread(need(memory, "main"));
    const forked = await laptop.send(
      { type: "thread.fork", threadId: source.id, at: { kind: "latest_stable" }, title: words.forkTitle },
      "fork",
    );
    memory.fork = forked.threadId;
    memory.forkTransfer = forked.transferId;
    const thread = await laptop.thread(forked.threadId);
    const { transfer, handoffs } = await laptop.transfer(forked.transferId);
    const work = {
      providerThreads: (await laptop.providerThreads(thread.id)).length,
      runs: (await laptop.runs(thread.id)).length,
      handoffs: handoffs.length,
      providerInputs: await laptop.inputCount(thread.id),
    };
    const items = await laptop.items(thread.id);
    return {
      facts: {
        threadId: thread.id,
        transferId: transfer.id,
        status: transfer.status,
        ...work,
        inheritedItems: items.filter((item) => item.inherited).length,
        lineage: thread.lineage,
      },
      checks: [
        same("the fork's transfer waits", [transfer.type, transfer.status], ["fork", "pending"]),
        same("no provider thread, run, handoff or input was made", work, { providerThreads: 0, runs: 0, handoffs: 0, providerInputs: 0 }),
        same("its point is the latest completed run", transfer.sourcePoint.runId, source.latestStable?.runId),
        same("its parent is the conversation", thread.lineage.parentThreadId, source.id),
        check(
          "it shows what it inherits, by reference",
          items.some((item) => item.inherited && item.threadId === source.id),
        ),
        same(
          "its own items are the fork marker alone",
          items.filter((i) => !i.inherited).map((i) => i.body.kind),
          ["fork_marker"],
        ),
      ],
      says: ["no provider was started and nothing was copied"],
    };
  },
};

/** The first message of a fork to the same provider forks the provider's own conversation, at exactly that point. */
export const forkRun: Step = {
  id: "fork_run",
  title: "The fork's first message makes the provider fork, exactly there",
  needsBox: false,
  async take({ laptop, providers, answersAreScripted }, memory, words) {
    const threadId = need(memory, "fork");
    const said = await say(laptop, threadId, words.recallInFork, "recall-in-fork");
    const { transfer, history } = await laptop.transfer(need(memory, "forkTransfer"));
    const consumer = said.runs.find((run) => run.id === transfer.consumedByRunId);
    const given = consumer === undefined ? null : await laptop.given(consumer);
    const [source] = await laptop.providerThreads(need(memory, "main"));
    return {
      facts: {
        transferId: transfer.id,
        history: statusesOf(history),
        resolution: transfer.resolution,
        consumedByRunId: transfer.consumedByRunId,
        opened: given?.opened,
        told: given?.context,
        answer: said.answer,
      },
      checks: [
        same("the run completed", [said.last.status, said.provider], ["completed", providers.first]),
        same("the fork was exact, then delivered", statusesOf(history), ["pending", "resolved_native", "consumed"]),
        same("it forked the conversation's own provider thread", transfer.resolution, {
          kind: "native_fork",
          providerThreadRef: source?.nativeRef,
        }),
        check("the provider forked and was told nothing besides the message", given?.opened === "fork" && wasTold(said, given, []), given),
        check("the answer is the codeword", !answersAreScripted || said.answer === words.codeword, said.answer),
      ],
      says: said.lines,
    };
  },
};
