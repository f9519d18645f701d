import { z } from "zod";
import { RunId, ThreadId } from "../../../schemas/ids.ts";
import { isEndedRun, type Run, RunStatus } from "../../../schemas/run.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { ToolRefused, toldOf } from "../refused.ts";
import { textOf } from "./item.ts";
import { clip, readContent } from "./text.ts";

const answerChars = 16_000;
const askChars = 2_000;
const progressChars = 2_000;

/** A run as somebody who waits for it reads it. */
export const RunView = z.object({
  threadId: ThreadId,
  runId: RunId,
  ordinal: z.number().int(),
  status: RunStatus,
  /** True once it will not change any more. */
  ended: z.boolean(),
  /** The agent's last message, once it has ended. */
  answer: z.string().nullable(),
  /** Set where `answer` is only the beginning: bytes of the whole. */
  cutFromBytes: z.number().int().optional(),
  /** The end of what the agent is writing now. */
  unfinished: z.string().optional(),
  /** What a person has to answer before it goes on. */
  asks: z.array(z.object({ requestId: z.string(), question: z.string(), text: z.string() })),
  /** Why it failed. Not named `error`: that is a refused call's. */
  failure: z.object({ code: z.string(), reason: z.string(), message: z.string(), hint: z.string() }).nullable(),
});
export type RunView = z.infer<typeof RunView>;

export function runView(environment: Environment, run: Run): RunView {
  const ended = isEndedRun(run.status);
  const result = run.resultItemId === null || !ended ? null : environment.threads.item(run.resultItemId);
  const content = result === null ? null : textOf(result.body).content;
  const answer = content === null ? null : readContent(environment, content, answerChars);
  const unfinished = ended ? null : environment.runs.progress(run.id);
  const error = run.error === null ? null : toldOf(new ToolRefused(run.error));
  return {
    threadId: run.threadId,
    runId: run.id,
    ordinal: run.ordinal,
    status: run.status,
    ended,
    answer: answer?.text ?? null,
    ...(answer?.cutFromBytes !== undefined && { cutFromBytes: answer.cutFromBytes }),
    ...(unfinished !== null && { unfinished: unfinished.slice(-progressChars).toWellFormed() }),
    asks: run.openRequests.map(({ requestId, itemId, question }) => {
      const item = environment.threads.item(itemId);
      const asked = item === null ? null : textOf(item.body);
      return { requestId, question, text: asked?.content == null ? "" : readContent(environment, asked.content, askChars).text };
    }),
    failure:
      error === null ? null : { code: error.code, reason: error.reason, message: clip(error.message, askChars).text, hint: error.hint },
  };
}

/** In a few words, for who is told of progress. */
export function runWords(run: Run | null): string {
  if (run === null) return "gone";
  return run.status === "waiting" ? "waits for a person's answer" : run.status;
}
