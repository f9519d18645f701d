import type { ItemBody } from "../../schemas/item.ts";
import type { Run } from "../../schemas/run.ts";
import type { Task } from "../../schemas/task.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { ContextTransfer, TransferStatus } from "../../schemas/transfer.ts";
import { type Input, readInputs } from "../../services/cli/demo/provider-inputs.ts";
import { statusesOf } from "../../services/cli/demo/story/history.ts";
import { threadReads } from "../../services/runtime/reads/threads.ts";
import { transferReads } from "../../services/runtime/reads/work.ts";
import { asTask, asTransfer } from "../../services/runtime/typed-actors.ts";
import { openStore } from "../../services/store/sqlite-store.ts";

type RunAtEnd = { run: Run; message: string; items: string[] };
export type ThreadAtEnd = { thread: AppThread; role: string; base: string[]; runs: RunAtEnd[] };
type TransferAtEnd = { transfer: ContextTransfer; role: string; statuses: TransferStatus[]; payloads: string[] };
export type SideAtEnd = {
  threads: ThreadAtEnd[];
  transfers: TransferAtEnd[];
  tasks: Task[];
  inputs: Input[];
  /** What must be empty: effects that are open or were given up, records that could not be read, messages that could not be used. */
  left: string[];
};
export type EndState = { laptop: SideAtEnd; box: SideAtEnd };

/** Reads both stores, whose environments have ended. */
export function endStateOf(dirs: { laptop: string; box: string }, instances: readonly string[]): EndState {
  return { laptop: sideOf(dirs.laptop, instances), box: sideOf(dirs.box, instances) };
}

function sideOf(dir: string, instances: readonly string[]): SideAtEnd {
  const store = openStore(dir);
  try {
    const threads = threadReads(store);
    const transfers = transferReads(store);
    const all = threads.list({ includeDeleted: true }).sort((a, b) => a.createdAt - b.createdAt);
    const roles = new Map(all.map((thread) => [thread.id, roleOf(thread)]));
    const links = store.actorsBy({ kind: "link" });
    return {
      threads: all.map((thread) => {
        const items = threads.items(thread.id, { ownOnly: true });
        const of = (runId: string | null) =>
          items.filter((i) => i.runId === runId).map((i) => `${wordsOf(i.body)}${i.truncated ? " (truncated)" : ""}`);
        const runs = threads
          .runs(thread.id)
          .map((run) => ({ run, message: messageOf(items.find((i) => i.id === run.messageItemId)?.body), items: of(run.id) }));
        return { thread, role: roles.get(thread.id) ?? "?", base: of(null), runs };
      }),
      transfers: store
        .actorsBy({ kind: "transfer" })
        .map(asTransfer)
        .map((transfer) => ({
          transfer,
          role: roles.get(transfer.targetThreadId) ?? "?",
          statuses: statusesOf(transfers.history(transfer.id)),
          payloads: transfers.handoffsOf(transfer.id).map((h) => h.payload),
        })),
      tasks: store.actorsBy({ kind: "task" }).map(asTask),
      inputs: instances.flatMap((instance) => readInputs(dir, instance) ?? []),
      left: [
        ...store.openEffects().map((e) => `open effect ${e.request.kind} (${e.state})`),
        ...store.effectsSetAside().map((e) => `effect set aside: ${e.request.kind}: ${e.note}`),
        ...store.setAside().map((r) => `record set aside: ${r.id}: ${r.reason}`),
        ...links.flatMap((link) => store.keptMessages(link.id as never).map((m) => `message kept: ${m.reason}`)),
        ...links.filter((link) => link.status === "diverged").map((link) => `diverged link ${link.id}`),
        ...store.openRequests().map((r) => `open request ${r.kind}`),
      ],
    };
  } finally {
    store.close();
  }
}

/** What a thread is in the story. */
function roleOf({ historyOrigin, lineage }: AppThread): string {
  if (historyOrigin === "v1_import") return "imported";
  return lineage.relationshipToParent ?? "main";
}

function messageOf(body: ItemBody | undefined): string {
  return body?.kind === "user_message" && "text" in body.content ? body.content.text : "?";
}

/** Kind and text, without what is new in every telling. */
function wordsOf(body: ItemBody): string {
  switch (body.kind) {
    case "handoff":
      // Its size counts what was interrupted and told again.
      return `handoff ${"text" in body.content ? body.content.text.split(":")[0] : ""}`;
    case "fork_marker":
      return "fork_marker";
    case "command":
      return `command ${body.command} ${body.exitCode}`;
    default:
      return `${body.kind} ${"content" in body && "text" in body.content ? body.content.text : ""}`;
  }
}
