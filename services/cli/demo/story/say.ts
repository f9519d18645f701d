import type { ThreadId } from "../../../../schemas/ids.ts";
import type { ProviderInstanceId } from "../../../../schemas/provider.ts";
import type { Run } from "../../../../schemas/run.ts";
import type { Given, Side } from "./stage.ts";

/** A message and what came of it: more than one run when a run was interrupted and the message sent again. */
export type Said = {
  runs: Run[];
  last: Run;
  answer: string;
  provider: ProviderInstanceId | null;
  /**
   * True when nobody knows whether a provider was given an earlier try: then it is told again, marked as a possible repeat
   * (contract §7).
   */
  uncertain: boolean;
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
  const uncertain = runs.some((run) => run.error?.reason === "outcome_unknown");
  return { runs, last, answer, provider, uncertain, lines: [`you: ${text}`, `${provider}: ${answer}`] };
}

/**
 * True when a run was told exactly `payloads`, each once; after an uncertain try, these and, marked as a possible repeat,
 * what that try was about.
 */
export function wasTold(said: Said, given: Given | null, payloads: readonly string[]): boolean {
  if (given === null) return false;
  const once = payloads.every((payload) => given.context.filter((text) => text === payload).length === 1);
  return once && (said.uncertain || given.context.length === payloads.length);
}

async function answerOf(side: Side, run: Run): Promise<string> {
  if (run.resultItemId === null) return "";
  const item = (await side.items(run.threadId)).find((i) => i.id === run.resultItemId);
  return item?.body.kind === "assistant_message" && "text" in item.body.content ? item.body.content.text : "";
}
