import type { RunId, ThreadId } from "../../schemas/ids.ts";
import type { ItemBody } from "../../schemas/item.ts";
import type { OpenRequest } from "../../schemas/run.ts";
import type { LocalClient } from "../http/client.ts";
import type { ExitCode } from "./exit-codes.ts";
import { badInput } from "./failure.ts";
import { resolveThreadOrRun } from "./references.ts";
import { awaitRun, type WaitOptions, waitBound } from "./run-outcome.ts";
import type { Given } from "./session.ts";
import type { Shell } from "./shell.ts";

type Asked = { threadId: ThreadId; runId: RunId; request: OpenRequest; approval: Extract<ItemBody, { kind: "approval" }> | null };
const searched = 500;

/**
 * Answers what a run asks. `choose` gives the answer for what was asked, or throws why there is none. The request may be
 * left out while only one is open.
 */
export async function answerRequest(
  shell: Shell,
  client: LocalClient,
  { args: [ref, requestId], options }: Given<WaitOptions>,
  choose: (asked: Asked) => string,
): Promise<ExitCode | undefined> {
  const timeoutMs = waitBound(options);
  const asked = await openRequest(client, ref, requestId);
  const answer = choose(asked);
  const { runId, threadId, request } = asked;
  const { result, commit, repeated } = await client.command(
    { type: "run.answer", runId, requestId: request.requestId, answer },
    shell.commandId(),
  );
  const about = { ...result, threadId, requestId: request.requestId, answer, commit, repeated };
  if (options.wait === true) return awaitRun(shell, client, { threadId, runId, after: commit, timeoutMs }, about);
  shell.answer(about, () => `answered: ${answer}`);
  return undefined;
}

async function openRequest(client: LocalClient, ref: string | undefined, requestId: string | undefined): Promise<Asked> {
  const { threadId, runId: named } = await resolveThreadOrRun(client, ref);
  const runId = named ?? (await client.thread(threadId)).thread.activeRunId;
  const run = runId === null ? null : (await client.run(runId)).run;
  const open = run?.openRequests ?? [];
  const request = requestId === undefined ? open[0] : open.find((r) => r.requestId === requestId);
  if (run === null || request === undefined) {
    const message =
      requestId === undefined ? `${named ?? threadId} asks nothing` : `${named ?? threadId} asks nothing under ${requestId} (any more)`;
    throw badInput("request_not_open", message, open.length === 0 ? `See: ropewalk show ${threadId}` : `It asks: ${ids(open)}`);
  }
  if (requestId === undefined && open.length > 1)
    throw badInput("several_requests", `${run.id} asks ${open.length} things`, `Name one of: ${ids(open)}`, { requests: open });
  const { items } = await client.items(threadId, { limit: searched, newestFirst: true, ownOnly: true });
  const body = items.find((item) => item.id === request.itemId)?.body;
  return { threadId, runId: run.id, request, approval: body?.kind === "approval" ? body : null };
}

const ids = (open: readonly OpenRequest[]) => open.map((r) => r.requestId).join(", ");

/** The first of our words for an answer that the request takes. */
export function pick(words: readonly string[], { approval, request, threadId }: Asked): string {
  const options = approval?.options ?? [];
  const isQuestion = request.question === "question";
  const found = options.length === 0 && !isQuestion ? words[0] : words.find((word) => options.includes(word));
  if (found !== undefined) return found;
  const hint = `ropewalk answer ${threadId} TEXT${options.length > 0 ? `, with one of: ${options.join(", ")}` : ""}`;
  throw badInput("not_yes_or_no", "this takes another answer than yes or no", `Answer it with: ${hint}`, { options });
}
