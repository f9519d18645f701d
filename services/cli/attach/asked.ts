import type { RunId } from "../../../schemas/ids.ts";
import type { ItemView, ThreadSnapshot, TurnView } from "../../../schemas/thread-view.ts";
import { plainText } from "../item-text.ts";
import { oneLine } from "../terminal.ts";

type Choice = { key: string; answer: string };
/** What the run under way asks a person. */
export type Asked = {
  runId: RunId;
  requestId: string;
  /** Its beginning, on one line. */
  text: string;
  /** A yes or no to something, which other words are no answer to. */
  isApproval: boolean;
  choices: Choice[];
};

/** The turn of the run under way. */
export const activeTurn = ({ turns, state }: ThreadSnapshot): TurnView | null =>
  turns.findLast(({ run, inheritedFrom }) => run != null && inheritedFrom == null && run.id === state.activeRunId) ?? null;

/** All that it asks, in order. */
export function asked(view: ThreadSnapshot): Asked[] {
  const turn = activeTurn(view);
  const { run, items = [] } = turn ?? {};
  if (run == null) return [];
  return (run.openRequests ?? []).map(({ requestId, itemId }) => {
    const item = items.find(({ id }) => id === itemId);
    const approval = item?.kind === "approval" ? item : null;
    const isApproval = approval !== null && approval.question !== "question";
    return {
      runId: run.id as RunId,
      requestId,
      text: approval === null ? "something; see it with: ropewalk show" : oneLine(plainText(approval.content)),
      isApproval,
      choices: choicesOf(approval, isApproval),
    };
  });
}

/** Words that requests use, each kind with the one key for it. */
const known: [key: string, answers: string[]][] = [
  ["y", ["accept", "yes", "allow"]],
  ["s", ["accept_for_session"]],
  ["n", ["decline", "no", "deny"]],
  ["c", ["cancel"]],
];

function choicesOf(approval: Extract<ItemView, { kind: "approval" }> | null, isApproval: boolean): Choice[] {
  if (approval === null) return [];
  const options = approval.options.length === 0 && isApproval ? ["accept", "decline"] : approval.options;
  const taken = new Set<string>();
  return options.map((answer, place) => {
    const key = known.find(([key, answers]) => answers.includes(answer) && !taken.has(key))?.[0] ?? String(place + 1);
    taken.add(key);
    return { key, answer };
  });
}

/** The answer that a line is; null where it is none. A question takes any words. */
export function answerIn(line: string, { choices, isApproval }: Asked): string | null {
  const said = line.trim();
  const lower = said.toLowerCase();
  const chosen = choices.find(
    ({ key, answer }) =>
      lower === key ||
      lower === answer.toLowerCase() ||
      known.some(([of, words]) => of === key && words.includes(lower) && words.includes(answer)),
  );
  if (chosen !== undefined) return chosen.answer;
  return isApproval || said === "" ? null : line;
}

/** `y accept, s accept_for_session, n decline`. */
export const choiceWords = ({ choices }: Pick<Asked, "choices">): string =>
  choices.map(({ key, answer }) => `${key} ${oneLine(answer)}`).join(", ");
