import type { ThreadId } from "../../../../schemas/ids.ts";
import type { ProviderInstanceId } from "../../../../schemas/provider.ts";
import type { Run } from "../../../../schemas/run.ts";
import type { Side } from "./stage.ts";

/** A message and what came of it: more than one run when a run was interrupted and the message sent again. */
export type Said = {
  runs: Run[];
  last: Run;
  answer: string;
  provider: ProviderInstanceId | null;
  /** Question and answer, as a person reads them. */
  lines: string[];
};

const maxTries = 5;

/** Sends a message and waits for its end. A run that ended as interrupted is sent again, as a person would. */
export async function say(side: Side, threadId: ThreadId, text: string, key: string): Promise<Said> {
  const { runId } = await side.send({ type: "thread.send", threadId, text }, key);
  return followed(side, threadId, await side.ended(runId), text, key);
}

/** Like {@link say}, for a message that somebody else has sent. */
export async function followed(side: Side, threadId: ThreadId, first: Run, text: string, key: string): Promise<Said> {
  const runs = [first];
  let last = first;
  for (let again = 1; last.status === "interrupted" && again < maxTries; again += 1) {
    const { runId } = await side.send({ type: "thread.send", threadId, text }, `${key}.again-${again}`);
    last = await side.ended(runId);
    runs.push(last);
  }
  const answer = await answerOf(side, last);
  const provider = last.provider?.instance ?? null;
  return { runs, last, answer, provider, lines: [`you: ${text}`, `${provider}: ${answer}`] };
}

async function answerOf(side: Side, run: Run): Promise<string> {
  if (run.resultItemId === null) return "";
  const item = (await side.items(run.threadId)).find((i) => i.id === run.resultItemId);
  return item?.body.kind === "assistant_message" && "text" in item.body.content ? item.body.content.text : "";
}
