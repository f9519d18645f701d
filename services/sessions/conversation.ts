import { limits } from "../../schemas/limits.ts";
import type { LeftOut, Problem, SessionMessage } from "./session.ts";

/** What one session's messages may take of an import, as JSON; leaves room for the rest of the request. */
const maxBytes = limits.importRequestBytes / 2;
/** Room for the note in place of what was left out. */
const maxChars = limits.importMessageChars - 200;
const titleChars = 80;
/** Of a file with more than these the rest is only counted. */
const maxProblems = 20;

type Kept = { message: SessionMessage; bytes: number; position: string };

/** Takes messages oldest first, and keeps as many of the newest as an import takes: memory has a bound, whatever the file has. */
export class Conversation {
  readonly #problems: Problem[] = [];
  #moreProblems = 0;
  readonly leftOut: LeftOut = { olderMessages: 0, shortened: 0, toolCalls: 0, attachments: 0 };
  #kept: Kept[] = [];
  #first = 0;
  #bytes = 0;
  #turns = 0;
  #firstWords = "";

  get turns(): number {
    return this.#turns;
  }
  /** The first line that the person wrote. */
  get firstWords(): string {
    return this.#firstWords;
  }
  get isEmpty(): boolean {
    return this.#first === this.#kept.length;
  }
  get position(): string {
    return this.#kept.at(-1)?.position ?? "";
  }

  /** What could not be read so far. */
  get problems(): Problem[] {
    const [first] = this.#problems;
    if (first === undefined || this.#moreProblems === 0) return [...this.#problems];
    return [...this.#problems, { file: first.file, line: null, why: `${this.#moreProblems} more lines of it could not be read` }];
  }

  cannotRead(problem: Problem): void {
    if (this.#problems.length < maxProblems) this.#problems.push(problem);
    else this.#moreProblems += 1;
  }

  /**
   * `position`: the native id of the message, or whatever else tells it from those before. `isOwn` false: words that stand in a
   * person's place and are not theirs. Blank text is no message.
   */
  add(message: SessionMessage, position: string, isOwn = true): void {
    if (message.text.trim() === "") return;
    if (message.role === "user" && isOwn) {
      this.#turns += 1;
      if (this.#firstWords === "") this.#firstWords = titleOf(message.text);
    }
    const text = this.#withinLimit(message.text.toWellFormed());
    const bytes = Buffer.byteLength(JSON.stringify(text)) + 64;
    this.#kept.push({ message: { ...message, text }, bytes, position });
    this.#bytes += bytes;
    // One place is for the note about those that are left out.
    while (this.#kept.length - this.#first >= limits.importMessages || this.#bytes > maxBytes) this.#dropOldest();
    if (this.#first <= 1_000) return;
    this.#kept = this.#kept.slice(this.#first);
    this.#first = 0;
  }

  /** Takes back the person's last `turns` messages, and what came after each. */
  takeBack(turns: number): void {
    for (let left = Math.min(turns, this.#turns); left > 0; left -= 1) {
      const at = this.#kept.findLastIndex(({ message }, place) => place >= this.#first && message.role === "user");
      this.#turns -= 1;
      for (const { bytes } of this.#kept.splice(Math.max(at, this.#first))) this.#bytes -= bytes;
    }
    if (this.#turns === 0) this.#firstWords = "";
  }

  /** Oldest first; where older ones are missing the first of them says so. */
  messages(): SessionMessage[] {
    const messages = this.#kept.slice(this.#first).map((kept) => kept.message);
    const missing = this.leftOut.olderMessages;
    if (missing === 0) return messages;
    const note = `(${missing} earlier message${missing === 1 ? " is" : "s are"} left out here.)`;
    return [{ role: "user", text: note, createdAt: null }, ...messages];
  }

  #dropOldest(): void {
    this.#bytes -= this.#kept[this.#first]?.bytes ?? 0;
    this.#first += 1;
    this.leftOut.olderMessages += 1;
  }

  #withinLimit(text: string): string {
    if (text.length <= limits.importMessageChars) return text;
    this.leftOut.shortened += 1;
    const head = Math.ceil(maxChars * 0.7);
    const missing = text.length - maxChars;
    const note = `\n(… ${missing} characters are left out here …)\n`;
    return `${text.slice(0, head)}${note}${text.slice(head + missing)}`.toWellFormed();
  }
}

/** The first line that says something, as far as it makes a title. */
function titleOf(text: string): string {
  const line = text.trim().split("\n", 1)[0]?.trim() ?? "";
  const characters = [...line.slice(0, titleChars * 4).toWellFormed()];
  return characters.length <= titleChars ? characters.join("") : `${characters.slice(0, titleChars - 1).join("")}…`;
}
