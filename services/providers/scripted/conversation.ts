import type { ItemBody } from "../../../schemas/item.ts";
import type { RunEnding } from "../../../schemas/run.ts";

/** A turn of a native conversation. `ending` is null while it runs, or when the process died before it ended. */
export type Turn = {
  id: string;
  attemptId: string;
  /** True for what a fork was copied with. */
  inherited: boolean;
  context: string[];
  message: string;
  items: ItemBody[];
  ending: RunEnding | null;
};

/** The lines of a conversation's file. */
export type ConversationRecord =
  | { type: "opened"; id: string; threadId: string; forkedFrom: { native: string; turn: string } | null; at: number }
  | { type: "turn"; turn: string; attemptId: string; inherited: boolean; context: string[]; message: string }
  | { type: "item"; turn: string; body: ItemBody }
  | { type: "ended"; turn: string; ending: RunEnding }
  /** What came after this turn was taken back. */
  | { type: "rewound"; to: string };

/** `made`: turns that it ever had; the number of one that was taken back is not given again. */
export type Conversation = { id: string; turns: Turn[]; made: number };

/** Unique for ever: a fork keeps the ids of what it inherited and counts on under its own. */
export function turnId(native: string, number: number): string {
  return `${native}.t${number}`;
}

/**
 * The conversation that a file's records tell. A turn whose input was never accepted is as if it had not been (its line
 * is written just before the acceptance); a later turn then has its id, and replaces it.
 */
export function replay(id: string, records: ConversationRecord[], accepted: (attemptId: string, turn: string) => boolean): Conversation {
  const turns = new Map<string, Turn>();
  let made = 0;
  for (const record of records) {
    if (record.type === "turn") {
      const { turn, attemptId, inherited, context, message } = record;
      turns.delete(turn);
      if (inherited || accepted(attemptId, turn)) {
        made += 1;
        turns.set(turn, { id: turn, attemptId, inherited, context, message, items: [], ending: null });
      }
    } else if (record.type === "item") {
      turns.get(record.turn)?.items.push(record.body);
    } else if (record.type === "ended") {
      const turn = turns.get(record.turn);
      if (turn) turn.ending = record.ending;
    } else if (record.type === "rewound") {
      const ids = [...turns.keys()];
      for (const gone of ids.slice(ids.indexOf(record.to) + 1)) turns.delete(gone);
    }
  }
  return { id, turns: [...turns.values()], made };
}

/** The records that copy `turns` into a fork. */
export function inheritedRecords(turns: Turn[]): ConversationRecord[] {
  return turns.flatMap(({ id, attemptId, context, message, items, ending }): ConversationRecord[] => [
    { type: "turn", turn: id, attemptId, inherited: true, context, message },
    ...items.map((body): ConversationRecord => ({ type: "item", turn: id, body })),
    ...(ending ? [{ type: "ended", turn: id, ending } satisfies ConversationRecord] : []),
  ]);
}

/** Every text that the conversation knows, oldest first: what it was told, what it was asked, what it said and saw. */
export function* knowledge(conversation: Conversation): Generator<string> {
  for (const turn of conversation.turns) {
    yield* turn.context;
    yield turn.message;
    for (const body of turn.items) yield* textsOf(body);
  }
}

function* textsOf(value: unknown, key = ""): Generator<string> {
  if (typeof value === "string" && key !== "kind") yield value;
  else if (value !== null && typeof value === "object") {
    for (const [name, element] of Object.entries(value)) yield* textsOf(element, name);
  }
}
