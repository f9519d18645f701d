import { readFileSync } from "node:fs";

/** A command that a page of the guide shows, and what the page says that it answers. */
export type Shown = { command: string; answer: string[]; line: number };

/** The commands of a page in its order: lines with `$ ` in blocks of `console`, each with what stands below it. */
export function commandsOf(page: string): Shown[] {
  const lines = readFileSync(new URL(`../../docs/guide/${page}`, import.meta.url), "utf8").split("\n");
  const commands: Shown[] = [];
  let inside = false;
  for (const [at, line] of lines.entries()) {
    if (line.startsWith("```")) inside = line === "```console";
    else if (inside && line.startsWith("$ ")) commands.push({ command: line.slice(2), answer: [], line: at + 1 });
    else if (inside) commands.at(-1)?.answer.push(line);
  }
  return commands;
}

/** An answer without what comes and goes: how long something is taking, how wide columns are. */
function plain(answer: string): string {
  const whole = answer.replace(/\n*$/, "");
  const lines = whole === "" ? [] : whole.split("\n");
  return lines
    .filter((line) => !/^[a-z]+ing .* \([\d.]+ s\)$|^[a-z ]+ \([\d.]+ s\)$/.test(line))
    .map((line) => `${line.replaceAll(/[ \t]+/g, " ").trimEnd()}\n`)
    .join("");
}

/** Stands for an id: `thread:3f0c77a2…`, or `3f0c77a2` alone. Whoever reads knows the first time what to put for it later. */
const exampleId = /(?:[a-z]+:)*\b([0-9a-f]{8})\b…?/g;

/**
 * The ids of a page, and what they really are. An id of the page is any eight hexadecimal digits; which id it stands for is
 * read off the first answer that shows it.
 */
export class PageIds {
  readonly #real = new Map<string, string>();

  /** A command of the page as it is to be typed here. */
  typed(command: string): string {
    return command.replace(exampleId, (text, digits: string) => this.#real.get(digits) ?? text);
  }

  /**
   * Why an answer is not what the page says; null when it is. `…` stands for anything on a line, a line of it for any
   * lines; times and columns are not compared.
   */
  compare(shown: readonly string[], answer: string): string | null {
    const names: string[] = [];
    const lines = shown.map((line) => (line.trim() === "…" ? "(?:.*\n)*?" : `${this.#pattern(line, names)}\n`));
    const found = new RegExp(`^${lines.join("")}$`).exec(plain(answer));
    if (found === null) return `the page says:\n${shown.join("\n")}\n\nit says:\n${answer}`;
    names.forEach((name, at) => {
      this.#real.set(name, found[at + 1] ?? "");
    });
    return null;
  }

  #pattern(line: string, names: string[]): string {
    const asPattern = (text: string) =>
      text
        .replaceAll(/[ \t]+/g, " ")
        .replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
        .replaceAll("…", ".*")
        .replaceAll(/\d+ (?:seconds?|minutes?|hours?|days?) ago|just now/g, "(?:\\d+ \\w+ ago|just now)")
        .replaceAll(/\d+(?:\\\.\d+)? s\b/g, "[\\d.]+ s");
    let pattern = "";
    let end = 0;
    for (const { 0: text, 1: digits = "", index } of line.trimEnd().matchAll(exampleId)) {
      pattern += asPattern(line.slice(end, index));
      const known = this.#real.get(digits);
      if (known === undefined) {
        pattern += "((?:[a-z]+:)*[0-9a-f]{8}[0-9a-f-]*)";
        names.push(digits);
      } else pattern += `(?:[a-z]+:)*${known.replace(/^(?:[a-z]+:)*/, "").slice(0, 8)}[0-9a-f-]*`;
      end = index + text.length;
    }
    return pattern + asPattern(line.trimEnd().slice(end));
  }
}
