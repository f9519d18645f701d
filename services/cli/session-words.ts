import type { LeftOut, Problem, SessionAgent, Unreadable } from "../sessions/session.ts";
import { oneLine } from "./terminal.ts";
import { counted } from "./words.ts";

export const agentNames: Record<SessionAgent, string> = { codex: "Codex", claude: "Claude Code" };

/** What of a session is not in its thread; empty where that is nothing worth a word. */
export function leftOutWords({ olderMessages, shortened, attachments }: LeftOut): string {
  const parts = [
    olderMessages === 0 ? null : `${counted(olderMessages, "older message")} left out`,
    shortened === 0 ? null : `${counted(shortened, "long message")} shortened`,
    attachments === 0 ? null : `${counted(attachments, "attachment")} left out`,
  ];
  return parts.filter((part) => part !== null).join(", ");
}

export function problemWords({ file, line, why }: Problem): string {
  return `${oneLine(file)}${line === null ? "" : `, line ${line}`}: ${oneLine(why)}`;
}

const shown = 5;

/** What could not be read, a few of many, a line each. */
export function unreadableWords(files: readonly Unreadable[], more: readonly Problem[] = []): string[] {
  const problems = [...files.filter((file) => file.kind === "unreadable").flatMap((file) => file.problems), ...more];
  const words = problems.slice(0, shown).map((problem) => `not read: ${problemWords(problem)}`);
  return problems.length > shown ? [...words, `… and ${problems.length - shown} more; --json tells them all`] : words;
}
