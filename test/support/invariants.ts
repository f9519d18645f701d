import { expect } from "vitest";
import type { RunId, ThreadId } from "../../schemas/ids.ts";
import { isEndedRun, type Run } from "../../schemas/run.ts";
import type { TransferStatus } from "../../schemas/transfer.ts";
import { isPartOfHistory } from "../../services/runtime/history.ts";
import { kernels } from "../../services/runtime/kernels.ts";
import { openStore } from "../../services/store/sqlite-store.ts";
import type { TestEnvironment } from "./environments.ts";
import { times } from "./reading.ts";

/** What must hold of an environment in which nothing is under way, whatever was done to it. */
export function expectSound(env: TestEnvironment): void {
  const threads = env.threads.list({ includeDeleted: true });
  for (const thread of threads) {
    const runs = env.threads.runs(thread.id);
    expect(runs.map((run) => run.ordinal)).toEqual(runs.map((_, i) => i + 1));
    for (const run of runs) expectEnded(env, run);
    const status = thread.status === "deleted" ? "deleted" : "idle";
    expect(thread).toMatchObject({ status, activeRunId: null, queue: [], lastOrdinal: runs.length });
  }
  for (const transfer of env.transfers.list()) expectTransfer(env, transfer.id);
  expectOneActiveRunPerThread(env);
  expectOneResultPerChildRun(env);
  expect(env.health()).toMatchObject({ setAside: [], effectsSetAside: [] });
}

function expectEnded(env: TestEnvironment, run: Run): void {
  expect([run.id, isEndedRun(run.status), run.openRequests, run.endedAt !== null]).toEqual([run.id, true, [], true]);
  // One that was taken back keeps what it had: that can be taken back, too.
  if (run.status !== "rolled_back")
    expect([run.id, run.status, run.checkpointId !== null]).toEqual([run.id, run.status, run.status === "completed"]);
  if (run.status === "completed") expect(run).toMatchObject({ error: null, acceptedAt: expect.any(Number) });
  const given = instances(env)
    .flatMap((instance) => env.inputs(instance))
    .filter((input) => input.runId === run.id);
  // Told at least once, and here, where no process was killed, exactly once.
  expect([run.id, run.status, given.length]).toEqual([run.id, run.status, run.acceptedAt === null ? 0 : 1]);
}

const next: Record<TransferStatus, TransferStatus[]> = {
  pending: ["resolved_native", "resolved_portable", "failed", "superseded"],
  resolved_native: ["consumed", "failed", "superseded"],
  resolved_portable: ["consumed", "failed", "superseded"],
  failed: ["superseded"],
  consumed: [],
  superseded: [],
};

function expectTransfer(env: TestEnvironment, id: Parameters<TestEnvironment["transfers"]["get"]>[0]): void {
  const transfer = env.transfers.get(id)!;
  const history = env.transfers.history(id);
  expect(history[0]).toMatchObject({ event: "transfer.created", from: null, to: "pending" });
  history.slice(1).forEach((step, i) => {
    expect(step.from).toBe(history[i]!.to);
    if (step.from !== step.to) expect(next[step.from!]).toContain(step.to);
  });
  expect(history.at(-1)!.to).toBe(transfer.status);
  // Nobody works on it any more.
  expect(transfer.claim).toBeNull();
  if (transfer.status === "consumed") {
    const run = env.runs.get(transfer.consumedByRunId!)!;
    expect(run).toMatchObject({ threadId: transfer.targetThreadId, acceptedAt: expect.any(Number) });
    expect(run.transferIds).toContain(id);
    expect(transfer.resolution).not.toBeNull();
  } else expect(transfer.consumedByRunId).toBeNull();
  if (transfer.status === "superseded" && transfer.supersededBy !== null)
    expect(env.transfers.get(transfer.supersededBy)).toMatchObject({ targetThreadId: transfer.targetThreadId, type: transfer.type });
  if (transfer.supersedes !== null)
    expect(env.transfers.get(transfer.supersedes)).toMatchObject({ status: "superseded", supersededBy: id });
}

/** From the journal: who had its thread's turn, and when. */
function expectOneActiveRunPerThread(env: TestEnvironment): void {
  const active = new Map<ThreadId, RunId>();
  for (const change of env.changes(0, 1_000_000)) {
    if (change.type !== "actor" || change.kind !== "run") continue;
    const { threadId } = env.runs.get(change.actorId as RunId)!;
    if (change.from === "queued" && change.to === "preparing") {
      expect([change.commit, active.get(threadId)]).toEqual([change.commit, undefined]);
      active.set(threadId, change.actorId as RunId);
    } else if (isEndedRun(change.to as Run["status"]) && active.get(threadId) === change.actorId) active.delete(threadId);
  }
  expect([...active]).toEqual([]);
}

function expectOneResultPerChildRun(env: TestEnvironment): void {
  for (const task of env.tasks.list()) {
    // A successor tells the same result again; it is not another one.
    const results = env.transfers
      .list({ target: task.parentThreadId })
      .filter((t) => t.type === "subagent_result" && t.taskId === task.id && t.supersedes === null);
    expect(results).toHaveLength(task.results);
    const dismissals = results.filter((t) => t.sourcePoint.runId === null).length;
    expect(dismissals).toBe(task.reason === "dismissed" ? 1 : 0);
    const ended = env.threads.runs(task.childThreadId!).map((run) => run.id);
    const told = results.flatMap((t) => t.sourcePoint.runId ?? []);
    expect([...told, ...task.lateAnswers.map((late) => late.runId)].sort()).toEqual(ended.sort());
  }
}

/** Every actor's journal, folded by its machine, is exactly what the store keeps. Opens the folder of a closed environment. */
export function expectJournalsFold(dir: string): void {
  const store = openStore(dir);
  try {
    const journal = store.journal({ limit: 1_000_000 }).filter((row) => row.verdict === "applied");
    const byActor = Map.groupBy(journal, (row) => row.actorId);
    for (const [actorId, rows] of byActor) {
      const [birth, ...life] = rows;
      const kernel = kernels[birth!.kind];
      const { state, context } = kernel.fold(
        kernel.init(birth!.event).next,
        life.map((row) => row.event),
      );
      const row = store.actor(actorId)!;
      expect({ state: row.state, context: row.context, seq: row.seq }).toEqual({
        state,
        context: JSON.parse(JSON.stringify(context)),
        seq: rows.length,
      });
    }
    expect(byActor.size).toBeGreaterThan(0);
  } finally {
    store.close();
  }
}

const instances = (env: TestEnvironment) => env.providers.list().map((p) => p.instance);

/**
 * What each native conversation knows: every message of the conversation that it serves, each of them once. Messages hold
 * a word like `<7>` that no other has. Not for lives with a killed process, where a repeat may be told.
 */
export function expectToldOnce(env: TestEnvironment): void {
  const inputs = instances(env).flatMap((instance) => env.inputs(instance));
  const knownAt = (native: string, turn: number): string => {
    const own = inputs.filter((i) => i.native === native && i.turn <= turn);
    const fork = inputs.find((i) => i.native === native && i.forkedFrom !== undefined)?.forkedFrom;
    const inherited = fork === undefined ? "" : knownAt(...turnOf(fork.turn));
    return [inherited, ...own.map((i) => `${i.context.join("\n")}\nUser:\n${i.message}`)].join("\n");
  };
  for (const thread of env.threads.list())
    for (const run of env.threads.runs(thread.id).filter((r) => r.acceptedAt !== null)) {
      const input = inputs.find((i) => i.runId === run.id)!;
      const known = knownAt(input.native, input.turn);
      const counts = wordsBefore(env, thread.id, run).map((word) => [word, times(`User:\n${word} `, known)]);
      expect([run.id, counts.filter(([, count]) => count !== 1)]).toEqual([run.id, []]);
    }
}

/** `<native>.t<number>` of the scripted provider. */
const turnOf = (turn: string): [string, number] => [turn.slice(0, turn.lastIndexOf(".t")), Number(turn.slice(turn.lastIndexOf(".t") + 2))];

/** The words of what people said in a thread, as it shows it, up to and with a run. */
function wordsBefore(env: TestEnvironment, threadId: ThreadId, upTo: Run): string[] {
  return env.threads.items(threadId).flatMap((item) => {
    if (item.body.kind !== "user_message") return [];
    if (!item.inherited && item.runOrdinal > upTo.ordinal) return [];
    const run = item.runId === null ? null : env.runs.get(item.runId);
    if (run !== null && run.id !== upTo.id && !isPartOfHistory(run)) return [];
    return "text" in item.body.content ? (/^<\d+>/.exec(item.body.content.text) ?? []) : [];
  });
}
