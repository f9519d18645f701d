import type { Need } from "../../../schemas/need.ts";
import type { Run } from "../../../schemas/run.ts";
import type { Store } from "../ports/store.ts";
import { asRun, threadFrom } from "../typed-actors.ts";
import { inPages } from "./pages.ts";

/** What agents ask and nobody has answered. */
export async function openQuestions(store: Store): Promise<Need[]> {
  const needs: Need[] = [];
  for await (const rows of inPages(store, { kind: "run", statuses: ["waiting"] }))
    for (const run of rows.map(asRun)) needs.push(...askedBy(store, run));
  return needs;
}

function askedBy(store: Store, run: Run): Need[] {
  const thread = threadFrom(store, run.threadId);
  return run.openRequests.map(({ requestId, itemId, question }) => {
    const item = store.item(itemId);
    const content = item?.body.kind === "approval" ? item.body.content : { text: "" };
    const asked = "text" in content ? content.text : content.blob.preview;
    const several = run.openRequests.length > 1;
    return {
      kind: question === "question" ? ("question" as const) : ("approval" as const),
      about: run.id,
      threadId: run.threadId,
      title: thread?.title ?? "",
      since: item?.createdAt ?? run.createdAt,
      why: asked === "" ? "the agent asks" : asked,
      act:
        question === "question"
          ? ["answer", run.id, "TEXT", ...(several ? ["--request", requestId] : [])]
          : ["ok", run.id, ...(several ? [requestId] : [])],
    };
  });
}
