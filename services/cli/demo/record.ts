import type { EnvironmentId, ThreadId } from "../../../schemas/ids.ts";
import type { Task } from "../../../schemas/task.ts";
import type { AppThread } from "../../../schemas/thread.ts";
import type { ContextTransfer } from "../../../schemas/transfer.ts";
import type { TransferStep } from "../../runtime/environment-api.ts";
import type { Missing } from "./broker.ts";
import type { Side, SideName, Stage } from "./story/stage.ts";
import type { ImportSeen, Memory } from "./story/step.ts";
import type { StepTold } from "./story/story.ts";

/** What the demo's JSON holds (decision 46). */
export type DemoRecord = {
  ok: boolean;
  steps: Pick<StepTold, "id" | "title" | "ok" | "ms" | "facts" | "failed">[];
  imports: (ImportSeen & { source: { environmentId: EnvironmentId; threadId: ThreadId }; target: EnvironmentId })[];
  transfers: (ContextTransfer & { environment: SideName; history: TransferStep[]; leftOut: number })[];
  lineage: LineageEntry[];
  tasks: (Task & { environment: SideName })[];
  /** Only where the part with two environments could not be told. */
  missing?: Missing;
};

/** A thread and what it came from; an import names its source, which its own lineage does not. */
type LineageEntry = {
  environment: SideName;
  thread: AppThread;
  relationship: "fork" | "subagent" | "import" | null;
  parentThreadId: ThreadId | null;
};

/** Everything that the story left in both environments. */
export async function recordOf(stage: Stage, memory: Memory, steps: readonly StepTold[], missing: Missing | null): Promise<DemoRecord> {
  const sides = stage.box === null ? [stage.laptop] : [stage.laptop, stage.box];
  const lineage = (await Promise.all(sides.map((side) => lineageOf(side, memory)))).flat();
  return {
    ...bareRecord(steps, missing),
    imports: memory.imports.map((seen) => ({
      ...seen,
      source: { environmentId: stage.laptop.environmentId, threadId: memory.main as ThreadId },
      target: stage.box?.environmentId as EnvironmentId,
    })),
    transfers: (await Promise.all(sides.map(transfersOf))).flat(),
    lineage,
    tasks: (await Promise.all(sides.map(tasksOf))).flat(),
  };
}

/** The part that needs nobody to be asked. */
export function bareRecord(steps: readonly StepTold[], missing: Missing | null): Pick<DemoRecord, "ok" | "steps" | "missing"> {
  return {
    ok: missing === null && steps.every((step) => step.ok),
    steps: steps.map(({ id, title, ok, ms, facts, failed }) => ({ id, title, ok, ms, facts, failed })),
    ...(missing !== null && { missing }),
  };
}

async function lineageOf(side: Side, memory: Memory): Promise<LineageEntry[]> {
  const threads = (await side.threads()).sort((a, b) => a.createdAt - b.createdAt);
  return threads.map((thread) => {
    const imported = memory.imports.some((seen) => seen.threadId === thread.id);
    const { parentThreadId, relationshipToParent } = thread.lineage;
    return imported
      ? { environment: side.name, thread, relationship: "import", parentThreadId: memory.main ?? null }
      : { environment: side.name, thread, relationship: relationshipToParent, parentThreadId };
  });
}

/** In the order in which they were made. */
async function transfersOf(side: Side): Promise<DemoRecord["transfers"]> {
  const threads = await side.threads();
  const found = (await Promise.all(threads.map((thread) => side.transfersTo(thread.id)))).flat();
  const views = await Promise.all(found.map((transfer) => side.transfer(transfer.id)));
  const made = (view: (typeof views)[number]) => view.history[0]?.commit ?? 0;
  return views
    .sort((a, b) => made(a) - made(b))
    .map(({ transfer, history, handoffs }) => ({
      ...transfer,
      environment: side.name,
      history,
      leftOut: handoffs.reduce((sum, handoff) => sum + handoff.leftOut.length, 0),
    }));
}

async function tasksOf(side: Side): Promise<DemoRecord["tasks"]> {
  return (await side.tasks()).map((task) => ({ ...task, environment: side.name }));
}
