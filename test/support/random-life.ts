import fc from "fast-check";
import type { CommandId, RunId, ThreadId } from "../../schemas/ids.ts";
import { isEndedRun } from "../../schemas/run.ts";
import { isEndedTask } from "../../schemas/task.ts";
import { startEnvironment, type TestEnvironment, until } from "./environments.ts";

/** What a message makes the provider do; each message also holds a word of its own. */
const moods = ["plain", "plain", "plain", "slow", "slow", "refuse", "break", "ask", "hang"] as const;

/** Three ways of being a provider: forks anywhere, forks nowhere, says that it forks and then refuses. */
const rules = [
  { match: { contains: "refuse" }, steps: [{ fail: { when: "before_accept", message: "busy" } }] },
  { match: { contains: "break" }, steps: [{ text: "half" }, { fail: { message: "broke" } }] },
  { match: { contains: "slow" }, steps: [{ delta: "sl" }, { delay: 8 }, { text: "ow" }] },
  { match: { contains: "ask" }, steps: [{ approval: { text: "may I?" }, onAccept: [{ text: "yes" }], onDecline: [{ text: "no" }] }] },
  { match: { contains: "hang" }, steps: [{ text: "begun" }, { hang: true }] },
];
const scripts = { p1: { rules }, p2: { rules, capabilities: { nativeFork: "none" } }, p3: { rules, capabilities: { refuseFork: true } } };

const n = fc.nat(99);
const provider = fc.constantFrom(undefined, undefined, "p1", "p2", "p3");

/** One thing that a person or an agent does. Numbers choose among what is there by then. */
const act = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("send" as const), thread: n, mood: fc.constantFrom(...moods), provider }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("fork" as const), thread: n, run: n }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("merge" as const), thread: n }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("spawn" as const), thread: n, mood: fc.constantFrom(...moods), byAgent: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("interrupt" as const), thread: n, keep: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("answer" as const), run: n, accept: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("switch" as const), thread: n, provider: fc.constantFrom("p1", "p2", "p3") }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("import" as const),
      messages: fc.integer({ min: 1, max: 3 }),
      key: fc.nat(1),
      go: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel" as const), task: n, dismiss: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("repeat" as const), command: n }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("rest" as const) }) },
);
export type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;
/** Acts in groups; those of a group happen at once. After a rest, what can end by itself has ended. */
export const lives = fc.array(fc.array(act, { minLength: 1, maxLength: 4 }), { minLength: 3, maxLength: 14, size: "max" });

/** An environment with one thread, and what was done to it. */
export class RandomLife {
  env: TestEnvironment;
  readonly threads: ThreadId[] = [];
  readonly runs: RunId[] = [];
  readonly #commands: { id: CommandId; command: unknown; answer: unknown }[] = [];
  #words = 0;

  private constructor(env: TestEnvironment) {
    this.env = env;
  }

  static async begin(): Promise<RandomLife> {
    const life = new RandomLife(await startEnvironment({ scripts, interruptMs: 2_000 }));
    life.threads.push(await life.env.newThread());
    await life.env.say(life.threads[0]!, life.#word("plain"));
    return life;
  }

  async live(groups: readonly Act[][]): Promise<void> {
    for (const group of groups) {
      await Promise.all(group.map((a) => this.#do(a)));
      if (group.some((a) => a.do === "rest")) await this.#rest();
      if (group.some((a) => a.do === "restart")) this.env = await this.env.restart();
    }
  }

  /** Answers what is asked and stops what hangs, until nothing is under way; then every result that waits has been told. */
  async settle(): Promise<void> {
    const open = () => this.#allRuns().filter((run) => !isEndedRun(run.status));
    const end = Date.now() + 20_000;
    while (open().length > 0) {
      if (Date.now() > end) throw new Error(`still under way: ${JSON.stringify(open().map((run) => [run.id, run.status, run.error]))}`);
      for (const run of open()) {
        const request = run.openRequests[0];
        if (request !== undefined)
          await this.env.dispatch({ type: "run.answer", runId: run.id, requestId: request.requestId, answer: "accept" });
        const hangs =
          run.status === "running" &&
          this.env.threads
            .items(run.threadId)
            .some((item) => item.runId === run.id && item.body.kind === "user_message" && JSON.stringify(item.body).includes("hang"));
        if (hangs) await this.env.dispatch({ type: "thread.interrupt", threadId: run.threadId, runId: run.id, children: "keep" });
      }
      await new Promise((next) => setTimeout(next, 5));
    }
    await until(() => this.env.tasks.list().every((task) => isEndedTask(task.status)), "every task's end");
  }

  async #rest(): Promise<void> {
    const goesOn = (status: string) => !isEndedRun(status as never) && status !== "waiting" && status !== "queued";
    const end = Date.now() + 300;
    while (this.#allRuns().some((run) => goesOn(run.status)) && Date.now() < end) await new Promise((next) => setTimeout(next, 5));
  }

  #allRuns() {
    return this.env.threads.list({ includeDeleted: true }).flatMap((thread) => this.env.threads.runs(thread.id));
  }

  #word(mood: string): string {
    this.#words += 1;
    return `<${this.#words}> ${mood}`;
  }

  async #dispatch(command: unknown, caller?: unknown): Promise<Record<string, unknown> | null> {
    const id = `cmd:test:${this.#commands.length}` as CommandId;
    const entry = { id, command, answer: null as unknown };
    this.#commands.push(entry);
    const receipt = await this.env.dispatch(command, { id, ...(caller === undefined ? {} : { caller: caller as never }) });
    entry.answer = receipt;
    if (!receipt.ok) {
      // Whatever is refused is refused for a reason of the contract, never for one of ours.
      if (receipt.refusal.code === "orchestration_error") throw new Error(`${JSON.stringify(command)}: ${JSON.stringify(receipt.refusal)}`);
      return null;
    }
    if (typeof receipt.result.runId === "string") this.runs.push(receipt.result.runId as RunId);
    return receipt.result;
  }

  async #do(a: Act): Promise<void> {
    const threadId = this.threads["thread" in a ? a.thread % this.threads.length : 0]!;
    switch (a.do) {
      case "send": {
        const choice = a.provider === undefined ? {} : { provider: { instance: a.provider, model: null } };
        await this.#dispatch({ type: "thread.send", threadId, text: this.#word(a.mood), ...choice });
        return;
      }
      case "fork": {
        const all = this.env.threads.runs(threadId).filter((run) => run.status === "completed");
        const run = all.length === 0 ? undefined : all[a.run % (all.length + 1)];
        const at = run === undefined ? { kind: "latest_stable" } : { kind: "run", runId: run.id };
        const made = await this.#dispatch({ type: "thread.fork", threadId, at });
        if (made !== null) this.threads.push(made.threadId as ThreadId);
        return;
      }
      case "merge": {
        const forks = this.threads.filter((id) => this.env.threads.get(id)?.lineage.relationshipToParent === "fork");
        await this.#dispatch({ type: "thread.merge_back", threadId: forks[a.thread % Math.max(1, forks.length)] ?? threadId });
        return;
      }
      case "spawn": {
        const runId = this.env.threads.get(threadId)?.activeRunId ?? null;
        const caller = a.byAgent && runId !== null ? { kind: "thread", threadId, runId } : { kind: "user" };
        const made = await this.#dispatch({ type: "task.spawn", parentThreadId: threadId, prompt: this.#word(a.mood) }, caller);
        if (typeof made?.childThreadId === "string") this.threads.push(made.childThreadId as ThreadId);
        return;
      }
      case "interrupt":
        await this.#dispatch({ type: "thread.interrupt", threadId, children: a.keep ? "keep" : "cancel" });
        return;
      case "answer": {
        const waiting = this.#allRuns().filter((run) => run.openRequests.length > 0);
        const run = waiting[a.run % Math.max(1, waiting.length)];
        if (run === undefined) return;
        await this.#dispatch({
          type: "run.answer",
          runId: run.id,
          requestId: run.openRequests[0]!.requestId,
          answer: a.accept ? "accept" : "decline",
        });
        return;
      }
      case "switch":
        await this.#dispatch({ type: "thread.switch", threadId, provider: { instance: a.provider, model: null } });
        return;
      case "import": {
        const messages = Array.from({ length: a.messages }, (_, i) => ({
          role: i % 2 === 0 ? "user" : "assistant",
          text: this.#word("imported"),
        }));
        const source = { handoffId: `h${a.key}`, sourceEnvironmentId: "elsewhere", sourceThreadId: "t" };
        const made = await this.#dispatch({
          type: "thread.import",
          import: { ...source, messages, ...(a.go ? { continuationPrompt: this.#word("plain") } : {}) },
        });
        if (made?.created === true) this.threads.push(made.threadId as ThreadId);
        return;
      }
      case "cancel": {
        const tasks = this.env.tasks.list();
        const task = tasks[a.task % Math.max(1, tasks.length)];
        if (task !== undefined) await this.#dispatch({ type: a.dismiss ? "task.dismiss" : "task.cancel", taskId: task.id });
        return;
      }
      case "repeat": {
        const before = this.#commands.filter((c) => c.answer !== null);
        const again = before[a.command % Math.max(1, before.length)];
        if (again === undefined) return;
        const receipt = await this.env.dispatch(again.command, { id: again.id });
        // An import is known by its key; everything else by its receipt.
        const isKnown =
          (again.command as { type: string }).type === "thread.import" ? receipt.ok && receipt.result.created === false : receipt.repeated;
        if ((again.answer as { ok: boolean }).ok && !isKnown)
          throw new Error(`${again.id} was done a second time: ${JSON.stringify(receipt)}`);
        return;
      }
      case "rest":
      case "restart":
        return;
    }
  }
}
