import type { Rule, Script, Step } from "./script.ts";

export type ScriptedInput = { message: string; context: string[]; turn: number };
/** What is played for an input, and what its strings may refer to. */
export type Choice = { steps: Step[]; groups: readonly (string | undefined)[]; ignoreInterrupt: boolean };

const answerChars = 80;

/**
 * The first rule that matches. `used` counts, by rule, how often each was chosen so far (rules with `times`); the chosen
 * one is counted.
 */
export function chooseRule(script: Script, input: ScriptedInput, used: Map<Rule, number>): Choice {
  for (const rule of script.rules ?? []) {
    const groups = matches(rule, input);
    if (groups === null) continue;
    const before = used.get(rule) ?? 0;
    if (rule.times !== undefined && before >= rule.times) continue;
    used.set(rule, before + 1);
    return { steps: rule.steps, groups, ignoreInterrupt: rule.ignoreInterrupt ?? false };
  }
  return { steps: [{ text: `ok: ${start(input.message)}`.replaceAll("$", "$$$$") }], groups: [], ignoreInterrupt: false };
}

function matches({ match }: Rule, input: ScriptedInput): readonly (string | undefined)[] | null {
  if (match.turn !== undefined && match.turn !== input.turn) return null;
  if (match.contains !== undefined && !input.message.includes(match.contains)) return null;
  const told = match.told;
  if (told !== undefined && !input.context.some((text) => text.includes(told))) return null;
  if (match.regex === undefined) return [];
  return new RegExp(match.regex).exec(input.message);
}

/** The first characters of a text; a character outside the basic plane is one, and is never cut in two. */
function start(text: string): string {
  return [...text.slice(0, answerChars * 2)].slice(0, answerChars).join("");
}

/** A step with the places in its strings filled in. Steps inside it are left for when they are played. */
export function fill(step: Step, groups: readonly (string | undefined)[], answer: string | null): Step {
  const { onAccept, onDecline, ...own } = step;
  const filled = fillValue(own, (text) =>
    text.replace(/\$(\$|&|[1-9]|answer\b)/g, (place, name: string) => {
      if (name === "$") return "$";
      if (name === "answer") return answer ?? place;
      if (groups.length === 0) return place;
      return groups[name === "&" ? 0 : Number(name)] ?? "";
    }),
  );
  return { ...(filled as Step), ...(onAccept && { onAccept }), ...(onDecline && { onDecline }) };
}

function fillValue(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === "string") return replace(value);
  if (Array.isArray(value)) return value.map((element) => fillValue(element, replace));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, element]) => [key, fillValue(element, replace)]));
  }
  return value;
}

/** The first match in texts that are known, oldest first. */
export function recall(pattern: string, known: Iterable<string>): string {
  const search = new RegExp(pattern);
  for (const text of known) {
    const found = search.exec(text);
    if (found !== null) return found[0];
  }
  return "I do not know";
}
