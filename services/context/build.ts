import { createHash } from "node:crypto";
import type { ContextHandoff, HandoffBudget, LeftOut } from "../../schemas/handoff.ts";
import type { VisibleItem } from "../../schemas/item.ts";
import type { Refusal } from "../../schemas/refusal.ts";
import type { Difference } from "../runtime/ports/workspaces.ts";
import { type FitResult, type Fitted, fitBlocks, fitWhole, tooLarge } from "./budget.ts";
import {
  checkpointHeader,
  deltaHeader,
  forkHeader,
  handedOverHeader,
  importHeader,
  mayRepeatNote,
  mergeBackHeader,
  resultHeader,
  switchHeader,
  taskHeader,
} from "./headers.ts";
import { type Measure, measureIn, sizeOf } from "./measure.ts";
import { type Detail, type ReadContent, type Rendered, renderItems } from "./render.ts";
import { shorten } from "./shorten.ts";
import type { TokenCounter } from "./tokens.ts";

/** What a handoff of history is for: it decides header and kind. */
export type HandoffSubject =
  | { about: "import" }
  | { about: "fork" }
  /** Everything so far, for a provider that knows none of it. */
  | { about: "switch" }
  /** What a provider missed since it last answered here. */
  | { about: "missed" }
  | { about: "merge_back"; title: string | null }
  | { about: "checkpoint"; workspaceRef: string | null; changes?: Difference | null };

/** A handoff but for its ids and its time. `exact` false: `size` is a bound that was known without counting. */
type BuiltHandoff = Omit<ContextHandoff, "id" | "transferId" | "createdAt"> & { exact: boolean };
export type BuildResult = ({ ok: true } & BuiltHandoff) | { ok: false; refusal: Refusal };

type Uncounted = {
  budget: HandoffBudget;
  /** The receiver may have been given this before (told at least once). */
  mayRepeat?: boolean;
};
type Common = Uncounted & { counter: Pick<TokenCounter, "count"> };

/** From the fullest to the barest; the first at which everything fits is used, else the last. */
const details: Detail[] = [
  { recent: 16_000, older: 16_000 },
  { recent: 8_000, older: 2_000 },
  { recent: 2_000, older: 400 },
  { recent: 800, older: 160 },
  { recent: 400, older: 60 },
];

/**
 * Retells items to a provider. `items` are what is to be told, in order and nothing else: a caller that tells a thread
 * leaves out handoff items whose content the items beside them tell already. Refuses with `context_too_large` when the
 * budget holds not even the newest item. Deterministic; no clock, no ids.
 */
export async function buildHandoff(
  request: Common & { subject: HandoffSubject; items: readonly VisibleItem[]; read: ReadContent },
): Promise<BuildResult> {
  const { subject, items, read, budget, counter, mayRepeat } = request;
  const measure = measureIn(budget.unit, counter);
  const head = headOf(header(subject), mayRepeat);
  let rendered: Rendered = { blocks: [], notRetold: [] };
  let fitted: Fitted | null = null;
  for (const detail of details) {
    rendered = renderItems(items, read, detail);
    fitted = await fitWhole(head, rendered.blocks, budget, measure);
    if (fitted) break;
  }
  const result: FitResult = fitted ? { ok: true, ...fitted } : await fitBlocks(head, rendered.blocks, budget, measure);
  if (!result.ok) return result;
  const leftOut = [...result.leftOut, ...(await listNotRetold(rendered, result.exact, measure))];
  return built(kindOf(subject), false, budget, { ...result, leftOut }, coverOf(items));
}

/**
 * A task for a child. `isMessage`: it is the message of the child's first run, and with nothing handed over the task alone,
 * without a header (decision 26). Else it is told beside another message; `task` is null where the history tells it.
 */
export async function buildTaskHandoff(request: Common & TaskToTell): Promise<BuildResult> {
  const { isMessage, budget, counter } = request;
  const payload = taskPayload(request);
  const measured = await within(payload, budget, measureIn(budget.unit, counter));
  if (!measured.fits) return { ok: false, refusal: tooLarge(measured.size, budget) };
  return built("portable_context", isMessage, budget, { payload, leftOut: [], ...measured });
}

/** The same at once, where it is so small that it need not be counted; else null. */
export function taskHandoffNow(request: Uncounted & TaskToTell): BuildResult | null {
  return wholeNow(taskPayload(request), request.isMessage, request.budget);
}

type TaskToTell = { task: string | null; handedOver: string | null; isMessage: boolean };

function taskPayload({ task, handedOver, isMessage, mayRepeat }: Uncounted & TaskToTell): string {
  const given = handedOver === null ? [] : [handedOverHeader, handedOver];
  const asked = task === null ? [] : isMessage && handedOver === null ? [task] : [taskHeader, task];
  return headOf([...given, ...asked].join("\n\n"), mayRepeat);
}

/**
 * The result of a child's run for its parent. A text that is larger than the budget is told with its middle cut out,
 * named and listed, since a result that could never be told would keep its parent from ever running again.
 */
export async function buildResultHandoff(request: Common & ResultToTell): Promise<BuildResult> {
  const { budget, counter } = request;
  const measure = measureIn(budget.unit, counter);
  const text = request.text ?? "";
  const payloadOf = resultPayload(request);
  const whole = await within(payloadOf(text), budget, measure);
  if (whole.fits) return built("portable_context", false, budget, { payload: payloadOf(text), leftOut: [], ...whole });

  // The largest part that fits, by halving: what a part counts grows with it.
  let best: { payload: string; size: number; cut: string } | null = null;
  let [low, high] = [0, text.length - 1];
  while (low <= high) {
    const bound = Math.floor((low + high) / 2);
    const { text: told, cut } = shorten(text, bound);
    const payload = payloadOf(told);
    const size = await sizeOf(payload, measure);
    if (size <= budget.limit) {
      best = { payload, size, cut: cut.join("") };
      low = bound + 1;
    } else {
      high = bound - 1;
    }
  }
  if (best === null) return { ok: false, refusal: tooLarge(await sizeOf(payloadOf(shorten(text, 0).text), measure), budget) };
  const leftOut: LeftOut[] = [{ itemId: null, reason: "truncated_output", size: await sizeOf(best.cut, measure) }];
  return built("portable_context", false, budget, { payload: best.payload, size: best.size, exact: true, leftOut });
}

/** The same at once, where it is so small that it need not be counted; else null. */
export function resultHandoffNow(request: Uncounted & ResultToTell): BuildResult | null {
  return wholeNow(resultPayload(request)(request.text ?? ""), false, request.budget);
}

type ResultToTell = {
  title: string;
  status: Parameters<typeof resultHeader>[1];
  text: string | null;
  reason?: string | null;
};

function resultPayload(request: Uncounted & ResultToTell): (told: string) => string {
  const { title, status, text, mayRepeat } = request;
  const head = headOf(resultHeader(title, status, text !== null && text !== "", request.reason ?? null), mayRepeat);
  return (told) => (told === "" ? head : `${head}\n\n${told}`);
}

function wholeNow(payload: string, isMessage: boolean, budget: HandoffBudget): BuildResult | null {
  const measure = measureIn(budget.unit, uncounted);
  const size = measure.atMost(payload);
  if (size > budget.limit) return null;
  return built("portable_context", isMessage, budget, { payload, leftOut: [], size, exact: measure.exact });
}

const uncounted = { count: () => Promise.reject(new Error("nothing is counted here")) };

function header(subject: HandoffSubject): string {
  switch (subject.about) {
    case "import":
      return importHeader;
    case "fork":
      return forkHeader;
    case "switch":
      return switchHeader;
    case "missed":
      return deltaHeader;
    case "merge_back":
      return mergeBackHeader(subject.title);
    case "checkpoint":
      return checkpointHeader(subject.workspaceRef, subject.changes ?? null);
  }
}

function kindOf({ about }: HandoffSubject): ContextHandoff["kind"] {
  if (about === "checkpoint") return "checkpoint_context";
  return about === "missed" || about === "merge_back" ? "delta_context" : "portable_context";
}

function headOf(text: string, mayRepeat = false): string {
  return mayRepeat ? `${mayRepeatNote}\n\n${text}` : text;
}

async function within(payload: string, budget: HandoffBudget, measure: Measure) {
  const bound = measure.atMost(payload);
  if (bound <= budget.limit) return { fits: true, size: bound, exact: measure.exact };
  const size = await sizeOf(payload, measure);
  return { fits: size <= budget.limit, size, exact: true };
}

/** As exact as the handoff itself: one that was small enough to need no count gets none for this either. */
async function listNotRetold({ notRetold }: Rendered, exact: boolean, measure: Measure): Promise<LeftOut[]> {
  const texts = notRetold.map(({ text }) => text);
  const sizes = exact ? await measure.sizes(texts) : texts.map(measure.atMost);
  return notRetold.map(({ itemId }, index) => ({ itemId, reason: "not_retold_kind", size: sizes[index] ?? 0 }));
}

/** Each run once, in order; what an import wrote has no run. */
function coverOf(items: readonly VisibleItem[]): ContextHandoff["covers"] {
  const covers = new Map<string, ContextHandoff["covers"][number]>();
  for (const { threadId, runId, runOrdinal } of items) covers.set(`${threadId} ${runOrdinal}`, { threadId, runId, ordinal: runOrdinal });
  return [...covers.values()];
}

function built(
  kind: ContextHandoff["kind"],
  isMessage: boolean,
  budget: HandoffBudget,
  { payload, size, exact, leftOut }: Fitted,
  covers: ContextHandoff["covers"] = [],
): { ok: true } & BuiltHandoff {
  const digest = createHash("sha256").update(payload).digest("hex");
  return { ok: true, kind, payload, isMessage, covers, budget, size, exact, digest, leftOut };
}
