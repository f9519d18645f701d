import type { PublicCommand } from "../../../schemas/command.ts";
import type { CommandId, EnvironmentId, RequestId, RunId, TaskId, ThreadId, TransferId } from "../../../schemas/ids.ts";
import type { ResultOf } from "../../../schemas/results.ts";
import { isEndedRun, type Run } from "../../../schemas/run.ts";
import { isEndedTask } from "../../../schemas/task.ts";
import { EnvironmentUnreachable } from "../../http/client/failures.ts";
import type { LocalClient } from "../../http/client.ts";
import { readInputs } from "./provider-inputs.ts";
import type { Given, Side, SideName } from "./story/stage.ts";

export type SocketSideOptions = {
  name: SideName;
  environmentId: EnvironmentId;
  client: LocalClient;
  /** Longest wait for a run, a task or an answer. Milliseconds. */
  waitMs: number;
  /** How long an environment that does not answer is asked again. Milliseconds; default: not at all. */
  patienceMs?: number;
};

const retryMs = 25;
/** The server lets nobody wait longer in one call. */
const longestCallMs = 60_000;

/** A side of the story that runs as a process of its own, asked over its socket. */
export class SocketSide implements Side {
  readonly #o: SocketSideOptions;

  constructor(options: SocketSideOptions) {
    this.#o = options;
  }

  get name(): SideName {
    return this.#o.name;
  }

  get environmentId(): EnvironmentId {
    return this.#o.environmentId;
  }

  async send<C extends PublicCommand>(command: C, key: string): Promise<ResultOf[C["type"]]> {
    const { result } = await this.#ask((client) => client.command(command, `cmd:demo:${key}` as CommandId));
    return result;
  }

  threads = async () => (await this.#ask((client) => client.threads())).threads;
  thread = async (id: ThreadId) => (await this.#ask((client) => client.thread(id))).thread;
  runs = async (id: ThreadId) => (await this.#ask((client) => client.threadRuns(id))).runs;
  items = async (id: ThreadId) => (await this.#ask((client) => client.items(id))).items;
  providerThreads = async (id: ThreadId) => (await this.#ask((client) => client.providerThreads(id))).providerThreads;
  transfersTo = async (id: ThreadId) => (await this.#ask((client) => client.transfers({ target: id }))).transfers;
  transfer = (id: TransferId) => this.#ask((client) => client.transfer(id));
  task = async (id: TaskId) => (await this.#ask((client) => client.task(id))).task;
  tasks = async () => (await this.#ask((client) => client.tasks())).tasks;

  ended(id: RunId): Promise<Run> {
    return this.#until(`the end of ${id}`, async (client, timeoutMs) => {
      const { run } = await client.waitForRun(id, { timeoutMs, until: "ended" });
      return isEndedRun(run.status) ? run : null;
    });
  }

  taskEnded(id: TaskId) {
    return this.#until(`the end of ${id}`, async (client, timeoutMs) => {
      const { task } = await client.waitForTask(id, { timeoutMs });
      return isEndedTask(task.status) ? task : null;
    });
  }

  answered(id: RequestId) {
    return this.#until(`the answer to ${id}`, async (client, timeoutMs) => (await client.waitForAnswer(id, { timeoutMs })).answer);
  }

  /** The scripted provider keeps a record of its own; of others there is what the environment says that it gave them. */
  async given(run: Run): Promise<Given | null> {
    if (run.acceptedAt === null || run.plan === null || run.provider === null) return null;
    const record = readInputs(this.#o.client.dir, run.provider.instance)?.find((input) => input.runId === run.id);
    if (record !== undefined) return { ...record, recordedBy: "provider" };
    const { plan } = run;
    const handoffs = await Promise.all(plan.handoffIds.map(async (id) => (await this.#ask((client) => client.handoff(id))).handoff));
    const asMessage = handoffs.find((h) => h.isMessage);
    const item = (await this.items(run.threadId)).find((i) => i.id === run.messageItemId);
    const message = item?.body.kind === "user_message" && "text" in item.body.content ? item.body.content.text : "";
    const native = (await this.providerThreads(run.threadId)).find((p) => p.id === run.providerThreadId);
    return {
      context: handoffs.filter((h) => !h.isMessage).map((h) => h.payload),
      message: asMessage?.payload ?? message,
      opened: plan.open.kind,
      native: native?.nativeRef.id ?? "",
      recordedBy: "environment",
    };
  }

  async inputCount(id: ThreadId): Promise<number> {
    const runs = await this.runs(id);
    const recorded = [...new Set(runs.flatMap((run) => run.provider?.instance ?? []))].map((instance) =>
      readInputs(this.#o.client.dir, instance),
    );
    if (recorded.every((inputs) => inputs !== null)) return recorded.flat().filter((input) => input.threadId === id).length;
    return runs.filter((run) => run.acceptedAt !== null).length;
  }

  /** Asks again while nobody answers, as long as this side's patience lasts. */
  async #ask<T>(what: (client: LocalClient) => Promise<T>): Promise<T> {
    const end = performance.now() + (this.#o.patienceMs ?? 0);
    for (;;) {
      try {
        return await what(this.#o.client);
      } catch (error) {
        if (!(error instanceof EnvironmentUnreachable) || performance.now() >= end) throw error;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  async #until<T>(what: string, look: (client: LocalClient, timeoutMs: number) => Promise<T | null>): Promise<T> {
    const end = performance.now() + this.#o.waitMs;
    for (let left = this.#o.waitMs; left > 0; left = end - performance.now()) {
      const timeoutMs = Math.ceil(Math.min(left, longestCallMs));
      const found = await this.#ask((client) => look(client, timeoutMs));
      if (found !== null) return found;
    }
    throw new Error(`waited ${Math.round(this.#o.waitMs / 1000)} s on the ${this.name} for ${what}`);
  }
}
