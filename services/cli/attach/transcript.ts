import type { RunStatus } from "../../../schemas/run.ts";
import type { ItemView, ThreadSnapshot, TurnView } from "../../../schemas/thread-view.ts";
import { wholeOf } from "../item-text.ts";
import { clean, style } from "../terminal.ts";
import { Cards } from "./cards.ts";
import { endLines, itemLines, line } from "./item-lines.ts";
import type { ThreadReader } from "./reader.ts";

/** Lines that are told for good, and the line of the agent's text that is not complete yet. */
export type Told = { lines: string[]; partial: string };

const ended: ReadonlySet<RunStatus> = new Set(["completed", "failed", "interrupted", "rolled_back"]);

/**
 * The conversation as lines, each told once: from one view of the thread to the next it knows what was told already, by the
 * items' ids, however often the connection was lost in between. What waits for its turn is told when that comes.
 */
export class Transcript {
  readonly #reader: ThreadReader;
  readonly #width: () => number;
  readonly #items = new Set<string>();
  readonly #runs = new Map<string, RunStatus>();
  readonly #cards = new Cards();
  /** What of the message that is being written was told, in whole lines. */
  #shown = "";
  #isFirst = true;

  /** `width`: columns of the terminal, as it is now. */
  constructor(reader: ThreadReader, width: () => number) {
    this.#reader = reader;
    this.#width = width;
  }

  async take(given: ThreadSnapshot): Promise<Told> {
    const view = this.#isFirst || this.#isKnown(given) ? given : await this.#reader.joined(given, (older) => this.#isKnown(older));
    const lines: string[] = [];
    if (!this.#isKnown(view) && !this.#isFirst) lines.push(line("── more was said meanwhile than is shown here ──", this.#columns));
    if (this.#isFirst && view.turns.some(({ inheritedFrom }) => inheritedFrom != null))
      lines.push(line("── what came before the fork ──", this.#columns));
    for (const turn of view.turns) lines.push(...(await this.#turn(turn)));
    for (const card of this.#cards.news(view)) lines.push(style("magenta", await this.#reader.shortened(card)));
    this.#isFirst = false;
    const { lines: written, partial } = this.#writing(clean(view.unfinished ?? ""));
    return { lines: [...lines, ...written], partial };
  }

  /** Turns as they are, whether they were told before or not. */
  async page(turns: readonly TurnView[]): Promise<string[]> {
    const lines: string[] = [];
    for (const turn of turns) {
      for (const item of turn.items ?? []) lines.push(...(item.kind === "user_message" ? [""] : []), ...(await this.#item(item, turn, "")));
      if (turn.run != null && ended.has(turn.run.status)) lines.push(...endLines(turn, this.#columns));
    }
    return lines;
  }

  get #columns(): number {
    return this.#width();
  }

  /** Whether it goes back as far as what was told. */
  #isKnown({ turns, olderThan }: ThreadSnapshot): boolean {
    return olderThan == null || turns.some(({ items = [] }) => items.some(({ id }) => this.#items.has(id)));
  }

  async #turn(turn: TurnView): Promise<string[]> {
    const { run, items = [], ordinal } = turn;
    if (run?.status === "queued") return [];
    const before = run == null ? undefined : this.#runs.get(run.id);
    if (run != null) this.#runs.set(run.id, run.status);
    const isTakenBack = run?.status === "rolled_back";
    const lines: string[] = [];
    for (const item of items) {
      if (this.#items.has(item.id)) continue;
      this.#items.add(item.id);
      if (isTakenBack) continue;
      if (item.kind === "user_message") lines.push("");
      lines.push(...(await this.#item(item, turn, this.#shown)));
      if (item.kind === "assistant_message") this.#shown = "";
    }
    if (run == null || run.status === before || turn.inheritedFrom != null) return lines;
    if (ended.has(run.status)) this.#shown = "";
    if (before === "rolled_back") lines.push(line(`── run ${ordinal} is back ──`, this.#columns));
    else if (isTakenBack) lines.push(line(`── run ${ordinal} was taken back ──`, this.#columns));
    else if (ended.has(run.status)) lines.push(...endLines(turn, this.#columns));
    return lines;
  }

  /** `shown`: what was told of it while it was written. */
  async #item(item: ItemView, { run }: TurnView, shown: string): Promise<string[]> {
    const lines = itemLines(item, run?.createdBy === "agent" ? "(from an agent) " : "", this.#columns);
    if (item.kind === "assistant_message") {
      const whole = clean(wholeOf(item.content) ?? (await this.#reader.textOf(item.id)));
      lines.push(...restOf(whole, shown));
    }
    if (item.truncated === true) lines.push(style("dim", "(cut off: the environment ended before it was complete)"));
    return lines;
  }

  #writing(text: string): Told {
    if (text === "") return { lines: [], partial: "" };
    // Another text than was told so far is another message.
    if (!text.startsWith(this.#shown)) this.#shown = "";
    const complete = text.slice(0, text.lastIndexOf("\n") + 1);
    const lines = complete.length > this.#shown.length ? linesOf(complete.slice(this.#shown.length)) : [];
    this.#shown = complete;
    return { lines, partial: text.slice(complete.length) };
  }
}

function restOf(whole: string, shown: string): string[] {
  if (whole.startsWith(shown)) return linesOf(whole.slice(shown.length));
  return shown.startsWith(whole) ? [] : linesOf(whole);
}

/** Without an empty line behind the last line end. */
const linesOf = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
