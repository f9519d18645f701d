import type { HandoffBudget } from "../../schemas/handoff.ts";
import type { Content } from "../../schemas/item.ts";
import { refusal } from "../../schemas/refusal.ts";
import type { Run } from "../../schemas/run.ts";
import type { AppThread } from "../../schemas/thread.ts";
import type { ContextSourcePoint } from "../../schemas/transfer.ts";
import { mergedUpTo } from "../runtime/merges.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { Workspaces } from "../runtime/ports/workspaces.ts";
import { pointAt } from "../runtime/source-point.ts";
import { taskFrom, threadFrom } from "../runtime/typed-actors.ts";
import { type BuildResult, buildHandoff, buildResultHandoff, buildTaskHandoff, resultHandoffNow, taskHandoffNow } from "./build.ts";
import type { StartContext, WorkedOn } from "./outcomes.ts";
import { inheritedSegments, retoldItems, segmentsBefore } from "./retold-items.ts";
import type { TokenCounter } from "./tokens.ts";

export type ArtefactRequest = {
  store: Store;
  thread: AppThread;
  run: Run;
  /** The run's own words; for a spawned child's first run, its task. */
  message: string;
  start: StartContext;
  budget: HandoffBudget;
  counter: Pick<TokenCounter, "count">;
  uncommittedAt: Workspaces["uncommittedAt"];
};

export type Artefact = { built: BuildResult; basePoint: ContextSourcePoint | null; sourcePoint: ContextSourcePoint | null };

/** How much of a budget the differences of a checkpoint may take: a quarter, at three characters to a token. */
const patchChars = ({ unit, limit }: HandoffBudget): number => Math.floor((unit === "tokens" ? 3 * limit : limit) / 4);

/** Builds what one transfer tells. The one place where each type of transfer is turned into text. */
export async function buildArtefact(request: ArtefactRequest, transfer: WorkedOn): Promise<Artefact> {
  const { store, thread, run, start } = request;
  const read = readerOf(store);
  const common = { budget: request.budget, counter: request.counter };
  const { input } = transfer;
  switch (input.type) {
    case "fork": {
      const items = retoldItems(store, inheritedSegments(store, thread));
      const checkpoint =
        input.sourcePoint.givenAs === "checkpoint" && input.sourcePoint.checkpointId !== null
          ? store.checkpoint(input.sourcePoint.checkpointId)
          : null;
      const points = { basePoint: null, sourcePoint: null };
      if (checkpoint === null) return { built: await buildHandoff({ ...common, subject: { about: "fork" }, items, read }), ...points };
      const changes = await request.uncommittedAt(checkpoint, patchChars(request.budget));
      const subject = { about: "checkpoint", workspaceRef: checkpoint.workspaceRef } as const;
      const built = await buildHandoff({ ...common, subject: { ...subject, changes }, items, read });
      // A budget that does not hold the changes beside the conversation is for the conversation.
      return { built: built.ok || changes === null ? built : await buildHandoff({ ...common, subject, items, read }), ...points };
    }
    case "provider_handoff": {
      const brought = start.back?.by === "fork" ? start.back.at.upTo : null;
      const whole = brought === null && (start.resume === null || start.tellsBase);
      const untold = new Set(start.tells);
      const segments = segmentsBefore(store, thread, run.ordinal).filter((s) =>
        whole && start.tellsBase ? !tellsForkedBase(start) || !s.inherited : !s.inherited,
      );
      const items = retoldItems(store, segments).filter((i) => whole || (untold.has(i.runOrdinal) && i.runOrdinal > (brought ?? 0)));
      const about = !whole ? "missed" : thread.historyOrigin === "v1_import" && thread.provider === null ? "import" : "switch";
      const last = start.tells.at(-1);
      const sourcePoint = last === undefined ? null : { ...input.sourcePoint, ...pick(pointOfRun(store, thread, last)) };
      return { built: await buildHandoff({ ...common, subject: { about }, items, read }), basePoint: null, sourcePoint };
    }
    case "merge_back": {
      const basePoint = toldBefore(start, transfer) ?? mergedUpTo(store, input.sourceThreadId, input.targetThreadId) ?? input.basePoint;
      const from = basePoint !== null && basePoint.threadId === input.sourceThreadId ? (basePoint.ordinal ?? 0) + 1 : 1;
      const segment = { threadId: input.sourceThreadId, fromOrdinal: from, toOrdinal: input.sourcePoint.ordinal ?? 0, inherited: false };
      const title = threadFrom(store, input.sourceThreadId)?.title ?? "";
      const subject = { about: "merge_back", title: title === "" ? null : title } as const;
      return {
        built: await buildHandoff({ ...common, subject, items: retoldItems(store, [segment]), read }),
        basePoint,
        sourcePoint: null,
      };
    }
    case "subagent_spawn": {
      const handedOver = input.content === null ? null : read(input.content);
      // Only in the child's first run is the task the message itself; a later one may be told of it as of the rest.
      const isMessage = run.ordinal === 1;
      const task = isMessage ? request.message : start.tells.includes(1) ? null : firstMessage(store, thread);
      return { built: await buildTaskHandoff({ ...common, task, handedOver, isMessage }), basePoint: null, sourcePoint: null };
    }
    case "subagent_result":
      return { built: await buildResultHandoff({ ...common, ...resultOf(store, input) }), basePoint: null, sourcePoint: null };
  }
}

/**
 * The artefacts that a fan-out is made of, without waiting: a task that is its child's first message, and a result. Null
 * for what must be counted, and for everything that retells items, which takes its time.
 */
export function artefactNow(request: Omit<ArtefactRequest, "counter" | "uncommittedAt">, { input }: WorkedOn): BuildResult | null {
  const { store, run, budget, message } = request;
  if (input.type === "subagent_result") return resultHandoffNow({ budget, ...resultOf(store, input) });
  if (input.type !== "subagent_spawn" || run.ordinal !== 1) return null;
  const handedOver = input.content === null ? null : readerOf(store)(input.content);
  return taskHandoffNow({ budget, task: message, handedOver, isMessage: true });
}

function resultOf(store: Store, input: WorkedOn["input"]) {
  const task = input.taskId === null ? null : taskFrom(store, input.taskId);
  return {
    title: task?.title ?? "task",
    status: input.outcome?.ending ?? ("interrupted" as const),
    text: input.content === null ? null : readerOf(store)(input.content),
    reason: input.outcome?.error?.message ?? null,
  };
}

/** Up to where an older merge of the same fork tells it in this very start: each run of the fork is told once. */
function toldBefore(start: StartContext, { id, input }: WorkedOn): ContextSourcePoint | null {
  const worked = start.outcomes.flatMap((o) => (o.outcome === "portable" || o.outcome === "delta" ? [o.transfer] : []));
  const older = worked.slice(
    0,
    worked.findIndex((t) => t.id === id),
  );
  return older.findLast((t) => t.input.type === "merge_back" && t.input.sourceThreadId === input.sourceThreadId)?.input.sourcePoint ?? null;
}

/** Something went wrong that is nobody's bad input (case H06). */
export function preparingFailed(error: unknown) {
  return refusal(
    "orchestration_error",
    "preparation_failed",
    `preparing the run failed: ${error instanceof Error ? error.message : String(error)}`,
    "Send again; if it fails again, report it with the output of ropewalk doctor.",
  );
}

export function buildingFailed(error: unknown) {
  return refusal(
    "orchestration_error",
    "handoff_failed",
    `building the handoff failed: ${error instanceof Error ? error.message : String(error)}`,
    "Send again; if it fails again, start from a fork or another provider.",
  );
}

function firstMessage(store: Store, thread: AppThread): string | null {
  const items = store.items({ threadId: thread.id, fromOrdinal: 1, toOrdinal: 1 }, { limit: 1 });
  const body = items[0]?.body;
  return body?.kind === "user_message" ? readerOf(store)(body.content) : null;
}

function readerOf(store: Store): (content: Content) => string | null {
  return (content) => {
    if ("text" in content) return content.text;
    const bytes = store.blob(content.blob.digest);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  };
}

/** True when the fork's own transfer tells (or natively brings) what was before this thread's runs. */
function tellsForkedBase(start: StartContext): boolean {
  return start.outcomes.some((o) => (o.outcome === "native" || o.outcome === "portable") && o.transfer.input.type === "fork");
}

function pointOfRun(store: Store, thread: AppThread, ordinal: number): ContextSourcePoint {
  const [run] = store.actorsBy({ kind: "run", owner: thread.id, minOrdinal: ordinal, maxOrdinal: ordinal });
  return pointAt({ threadId: thread.id, runId: (run?.id as Run["id"] | undefined) ?? null, ordinal });
}

const pick = (p: ContextSourcePoint) => ({ runId: p.runId, ordinal: p.ordinal, checkpointId: null });
