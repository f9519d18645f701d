import type { TaskView, ThreadSnapshot, TransferView } from "../../../schemas/thread-view.ts";
import { oneLine } from "../terminal.ts";
import { taskWords } from "../words.ts";

/** What comes to a thread from others and goes from it to them (forks, merges, results, tasks), each as one line when it is news. */
export class Cards {
  readonly #told = new Map<string, string>();
  #isFirst = true;

  /** What is new since the last view; of the first one what is still open. Ids in it are whole. */
  news(view: ThreadSnapshot): string[] {
    const { transfers = [], tasks = [], thread } = view;
    const titles = new Map(tasks.map((task) => [task.id as string, oneLine(task.title)]));
    const cards = [
      ...transfers.map((transfer) => this.#card(transfer.id, transferCard(transfer, thread.id, titles), isOpenTransfer(transfer))),
      ...tasks.map((task) => this.#card(task.id, taskCard(task, thread.id), task.endedAt == null)),
    ].filter((card) => card !== null);
    this.#isFirst = false;
    return cards;
  }

  #card(id: string, words: string | null, isOpen: boolean): string | null {
    if (words === null || this.#told.get(id) === words) return null;
    this.#told.set(id, words);
    return this.#isFirst && !isOpen ? null : `◆ ${words}`;
  }
}

const isOpenTransfer = ({ status, type }: TransferView): boolean => status === "failed" || (status === "pending" && type !== "fork");

function transferCard(transfer: TransferView, me: string, titles: ReadonlyMap<string, string>): string | null {
  const { type, sourceThreadId: source, targetThreadId: target, taskId, ending } = transfer;
  const words = transferStands(transfer);
  switch (type) {
    case "fork":
      if (source === me) return `fork ${target} goes on from here`;
      return words === null || transfer.status === "pending" ? null : `history of ${source}: ${words}`;
    case "provider_handoff":
      return words === null || transfer.status === "pending" ? null : `what it had not seen: ${words}`;
    case "merge_back":
      if (words === null) return null;
      return source === me ? `merge back into ${target}: ${words}` : `merge back from ${source}: ${words}`;
    case "subagent_result":
      return target === me ? `result of ${titles.get(taskId ?? "") ?? source}: ${ending === "completed" ? "done" : (ending ?? "")}` : null;
    case "subagent_spawn":
      return null;
  }
}

/** Null for what is on its way, which is no news. */
function transferStands({ status, handoffId, error }: TransferView): string | null {
  switch (status) {
    case "pending":
      return "goes with the next message";
    case "consumed":
      return `delivered, ${handoffId == null ? "exact (native)" : "retold"}`;
    case "superseded":
      return "replaced by a newer one";
    case "failed":
      return `failed${error == null ? "" : `: ${oneLine(error.message)}`}`;
    default:
      return null;
  }
}

function taskCard(task: TaskView, me: string): string | null {
  const { parentThreadId, childThreadId, endedAt } = task;
  if (parentThreadId !== me) return null;
  const who = `task ${oneLine(task.title)}${childThreadId == null ? "" : ` (${childThreadId})`}`;
  if (endedAt == null) return `${who} is under way`;
  return `${who}: ${taskWords({ status: task.status, error: task.error ?? null, reason: task.reason ?? null })}`;
}
