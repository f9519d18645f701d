import { importThreadId } from "../../../../../schemas/ids.ts";
import type { LinkAnswer } from "../../../../../schemas/wire.ts";
import { check, same } from "../check.ts";
import { statusesOf } from "../history.ts";
import { followed, say, wasTold } from "../say.ts";
import type { Side, Stage } from "../stage.ts";
import { type ImportSeen, type Memory, need, needBox, type Step } from "../step.ts";
import type { Words } from "../words.ts";

/** Exactly so by contract (§6, Import); written here a second time, so that a change there is noticed here. */
const header = "Imported conversation history from before this thread ran here.";
const handoffId = "demo";

async function importToBox(stage: Stage, memory: Memory, words: Words, key: string): Promise<{ seen: ImportSeen; answer: LinkAnswer }> {
  const threadId = need(memory, "main");
  const { environmentId } = needBox(stage);
  const command = { type: "thread.import_to", threadId, environmentId, handoffId, continuationPrompt: words.continuation } as const;
  const asked = await stage.laptop.send(command, key);
  const answer = await stage.laptop.answered(asked.requestId);
  const result = answer.ok ? answer.result : {};
  const seen: ImportSeen = {
    handoffId,
    requestId: asked.requestId,
    threadId: result.threadId as ImportSeen["threadId"],
    created: result.created === true,
    continuation: String(result.continuation ?? "none"),
  };
  memory.imports = [...memory.imports.filter((known) => known.requestId !== seen.requestId), seen];
  return { seen, answer };
}

/** The conversation goes to the other machine and on from there. */
export const importThread: Step = {
  id: "import",
  title: "The conversation is imported into the box, over NATS JetStream, and goes on",
  needsBox: true,
  async take(stage, memory, words) {
    const box = needBox(stage);
    const main = await stage.laptop.thread(need(memory, "main"));
    const { seen, answer } = await importToBox(stage, memory, words, "import");
    if (!answer.ok) return { facts: { answer }, checks: [same("the box took it", answer.ok, true)], says: [] };
    memory.imported = seen.threadId;
    const first = (await box.runs(seen.threadId))[0];
    if (first === undefined) return { facts: { ...seen }, checks: [check("the continuation was started", false)], says: [] };
    const said = await followed(box, seen.threadId, await box.ended(first.id), words.continuation, "continuation");
    const thread = await box.thread(seen.threadId);
    const transfer = (await box.transfersTo(seen.threadId)).find((t) => t.status !== "superseded");
    const view = transfer === undefined ? null : await box.transfer(transfer.id);
    const consumer = said.runs.find((run) => run.id === transfer?.consumedByRunId);
    const given = consumer === undefined ? null : await box.given(consumer);
    const told = given?.context.find((text) => text.startsWith(header)) ?? "";
    const expected = importThreadId(stage.laptop.environmentId, main.id, handoffId);
    return {
      facts: {
        ...seen,
        expectedThreadId: expected,
        historyOrigin: thread.historyOrigin,
        linkOrigin: thread.linkOrigin,
        history: statusesOf(view?.history ?? []),
        given: told,
        header,
        headerFound: told.startsWith(header),
        codeword: words.codeword,
        codewordFound: told.includes(words.codeword),
        answer: said.answer,
        ...(await size(box, memory)),
      },
      checks: [
        same("the box made the thread", seen.created, true),
        same("under the id that follows from source and handoff id", seen.threadId, expected),
        same("its history is marked as imported", thread.historyOrigin, "v1_import"),
        same("it carries the laptop's stamp", thread.linkOrigin?.environmentId, stage.laptop.environmentId),
        same("the continuation completed", [said.last.status, first.ordinal], ["completed", 1]),
        same("the history was retold, then delivered", statusesOf(view?.history ?? []), ["pending", "resolved_portable", "consumed"]),
        check("the provider on the box was given the history under the header", told.startsWith(header), told.slice(0, 80)),
        check("with the laptop's codeword in it", told.includes(words.codeword)),
        check("the answer is the codeword", !stage.answersAreScripted || said.answer === words.codeword, said.answer),
      ],
      says: [`created: ${seen.created}, thread ${seen.threadId}`, ...said.lines],
    };
  },
};

/** What there is of the imported thread; the same before and after a repeat. */
async function size(box: Side, memory: Memory) {
  const threadId = need(memory, "imported");
  return {
    messages: (await box.items(threadId)).filter((i) => i.body.kind === "user_message" || i.body.kind === "assistant_message").length,
    items: (await box.items(threadId)).length,
    runs: (await box.runs(threadId)).length,
    providerTurns: await box.inputCount(threadId),
  };
}

/** The same import again, as after a lost answer: nothing happens twice. */
export const importAgain: Step = {
  id: "import_repeat",
  title: "The same import is asked for again: nothing happens twice",
  needsBox: true,
  async take(stage, memory, words) {
    const box = needBox(stage);
    const before = await size(box, memory);
    const { seen, answer } = await importToBox(stage, memory, words, "import-again");
    const after = await size(box, memory);
    return {
      facts: { ...seen, before, after, ...(answer.ok ? {} : { answer }) },
      checks: [
        same("the box had it already", [answer.ok, seen.created], [true, false]),
        same("it is the same thread", seen.threadId, need(memory, "imported")),
        check("under another request", memory.imports.length === 2),
        same("no message, run or provider turn was added", after, before),
      ],
      says: [`created: ${seen.created}; no message, run or provider turn was added`],
    };
  },
};

/** The imported thread is a thread like any other. */
export const goOn: Step = {
  id: "go_on",
  title: "On the box the conversation goes on like any other",
  needsBox: true,
  async take(stage, memory, words) {
    const box = needBox(stage);
    const threadId = need(memory, "imported");
    const said = await say(box, threadId, words.goOn, "go-on");
    const given = await box.given(said.last);
    return {
      facts: {
        threadId,
        runId: said.last.id,
        ordinal: said.last.ordinal,
        opened: given?.opened,
        told: given?.context,
        answer: said.answer,
      },
      checks: [
        same("the run completed", said.last.status, "completed"),
        check("its provider knew all that was before", given?.opened === "resume" && wasTold(said, given, []), given),
        check("the answer is the fork's finding", !stage.answersAreScripted || said.answer === words.finding, said.answer),
      ],
      says: said.lines,
    };
  },
};
