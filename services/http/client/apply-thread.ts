import type { OlderTurns, ThreadPatch, ThreadSnapshot, TurnView } from "../../../schemas/thread-view.ts";
import { withRecords } from "./apply-records.ts";

/**
 * A client's view of a thread after a patch; the view that it is given is left as it was. Pure, and the same on both sides:
 * a snapshot at commit N with the patches after it is the snapshot at the last one's commit, except that it keeps the older
 * turns that a new snapshot would leave to a page.
 */
export function applyThreadPatch(view: ThreadSnapshot, patch: ThreadPatch): ThreadSnapshot {
  if (patch.commit < view.commit) return view;
  const { unfinished } = patch;
  const { unfinished: before, ...rest } = view;
  const text =
    unfinished === undefined ? before : unfinished === null ? null : (before ?? "").slice(0, unfinished.keep ?? 0) + unfinished.text;
  return {
    ...rest,
    commit: patch.commit,
    ...(patch.state !== undefined && { state: patch.state }),
    ...(patch.turns !== undefined && { turns: withTurns(view, patch.turns) }),
    ...withRecords("transfers", view.transfers, patch.transfers),
    ...withRecords("tasks", view.tasks, patch.tasks),
    ...(text != null && { unfinished: text }),
  };
}

/** The view with an older page in front, as it was asked for with the view's `olderThan`. */
export function withOlderTurns(view: ThreadSnapshot, page: OlderTurns): ThreadSnapshot {
  const { olderThan: _, ...rest } = view;
  const [first, ...others] = view.turns;
  const last = page.turns.at(-1);
  const joined =
    first !== undefined && last !== undefined && placeOf(first) === placeOf(last)
      ? [...page.turns.slice(0, -1), { ...first, items: [...(last.items ?? []), ...(first.items ?? [])] }, ...others]
      : [...page.turns, ...view.turns];
  return { ...rest, turns: joined, ...(page.olderThan != null && { olderThan: page.olderThan }) };
}

const placeOf = ({ ordinal, inheritedFrom }: TurnView) => `${inheritedFrom ?? ""} ${ordinal}`;

function withTurns(view: ThreadSnapshot, patches: readonly TurnView[]): TurnView[] {
  const turns = [...view.turns];
  const places = new Map(turns.map((turn, at) => [placeOf(turn), at]));
  for (const patch of patches) {
    const at = places.get(placeOf(patch));
    const known = at === undefined ? undefined : turns[at];
    if (at !== undefined && known !== undefined) turns[at] = withTurn(known, patch);
    // What is older than what the client has comes with an older page.
    else if (view.olderThan == null || !isOlder(patch, view.turns)) insert(turns, patch);
  }
  return turns;
}

function withTurn(turn: TurnView, patch: TurnView): TurnView {
  const items = [...(turn.items ?? []), ...(patch.items ?? [])];
  return { ...turn, ...(patch.run !== undefined && { run: patch.run }), ...(items.length > 0 && { items }) };
}

const isOwn = (turn: TurnView) => turn.inheritedFrom == null;

/** Nothing new is inherited, so an inherited turn that is not there is an old one. */
function isOlder(patch: TurnView, turns: readonly TurnView[]): boolean {
  const first = turns.find(isOwn);
  return !isOwn(patch) || (first !== undefined && first === turns[0] && patch.ordinal < first.ordinal);
}

/** Own turns stand behind the inherited ones, by ordinal. A new one is nearly always the last. */
function insert(turns: TurnView[], patch: TurnView): void {
  const at = turns.findLastIndex((turn) => !isOwn(turn) || turn.ordinal < patch.ordinal);
  turns.splice(at + 1, 0, patch);
}
