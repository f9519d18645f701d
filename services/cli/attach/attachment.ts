import type { RunId, ThreadId } from "../../../schemas/ids.ts";
import type { ThreadSnapshot } from "../../../schemas/thread-view.ts";
import type { LocalClient } from "../../http/client.ts";
import { failureOf } from "../failure.ts";
import { plainText } from "../item-text.ts";
import type { Shell } from "../shell.ts";
import { clean, oneLine, style } from "../terminal.ts";
import { type Asked, activeTurn, answerIn, asked, choiceWords } from "./asked.ts";
import { type Below, layBelow } from "./below.ts";
import type { Key } from "./keys.ts";
import { LineEditor } from "./line-editor.ts";
import { Outbox } from "./outbox.ts";
import { ThreadReader } from "./reader.ts";
import type { Screen } from "./screen.ts";
import { type Hands, slashCommandIn, slashCommands } from "./slash-commands.ts";
import { queuedTexts, statusLine } from "./status.ts";
import { Transcript } from "./transcript.ts";

const firstItems = 40;
const tickMs = 1_000;
/** A message that is answered within this is not shown as one that waits. */
const unsentMs = 500;
const closeMs = 3_000;

/** A person at a terminal and one thread: what comes from it is told, what is typed goes to it. */
export class Attachment {
  readonly #client: LocalClient;
  readonly #threadId: ThreadId;
  readonly #screen: Screen;
  readonly #outbox: Outbox;
  readonly #reader: ThreadReader;
  readonly #transcript: Transcript;
  readonly #editor = new LineEditor();
  readonly #over = new AbortController();
  readonly #ticks: NodeJS.Timeout;
  #name: string;
  #view: ThreadSnapshot | null = null;
  #partial = "";
  #isLost = false;
  #olderThan: string | null = null;
  /** Requests that were answered here, whether or not the thread says so yet. */
  readonly #answered = new Set<string>();
  readonly #seenRequests = new Set<string>();
  /** A question that came while something else was being typed. */
  #unlooked: string | null = null;
  #confirming: { question: string; answer(yes: boolean): void } | null = null;
  /** The run that Ctrl-C was pressed for. */
  #stopping: string | null = null;

  constructor(shell: Shell, client: LocalClient, threadId: ThreadId, screen: Screen) {
    this.#client = client;
    this.#threadId = threadId;
    this.#name = threadId;
    this.#screen = screen;
    this.#outbox = new Outbox(
      (command, id) => client.command(command, id),
      () => shell.commandId(),
    );
    this.#reader = new ThreadReader(client, threadId, this.#over.signal);
    this.#transcript = new Transcript(this.#reader, () => screen.columns);
    this.#ticks = setInterval(() => this.redraw(), tickMs);
  }

  /** Until it is left, or there is nothing to follow any more. Throws what the environment refuses it with. */
  async follow(): Promise<void> {
    const { signal } = this.#over;
    const onConnection = (state: "lost" | "live") => this.#connection(state);
    this.redraw();
    for await (const view of this.#client.followThread(this.#threadId, {
      limit: firstItems,
      patienceMs: Number.POSITIVE_INFINITY,
      signal,
      onConnection,
    })) {
      const lines = this.#view === null ? await this.#beginning(view) : [];
      const told = await this.#transcript.take(view);
      this.#view = view;
      this.#partial = told.partial;
      this.#look();
      this.redraw([...lines, ...told.lines]);
      if (view.state.status === "deleted") {
        this.#note("the thread was deleted");
        return;
      }
    }
  }

  /** What the thread is called in a command. */
  get name(): string {
    return this.#name;
  }

  leave(): void {
    this.#over.abort();
  }

  /** Ends it; gives back what was typed and has not reached the environment. */
  async close(): Promise<string[]> {
    this.leave();
    clearInterval(this.#ticks);
    await this.#outbox.close(this.#isLost ? 0 : closeMs);
    this.#screen.clear();
    return [...this.#outbox.unsent(), this.#editor.text].filter((text) => text.trim() !== "");
  }

  press(key: Key): void {
    if (key.type === "text" || !this.#ownKey(key.name)) this.#editor.press(key);
    this.redraw();
  }

  /** Tells lines for good, and draws what stands below them as it is now. */
  redraw(lines: readonly string[] = []): void {
    if (!this.#over.signal.aborted) this.#screen.draw(lines, layBelow(this.#below(), this.#editor, this.#screen));
  }

  #ownKey(name: string): boolean {
    switch (name) {
      case "return":
        this.#submit();
        return true;
      case "ctrl-c":
        this.#interrupt();
        return true;
      case "ctrl-d":
        if (!this.#editor.isEmpty) return false;
        this.leave();
        return true;
      case "tab": {
        const begun = /^\/([a-z]*)$/.exec(this.#editor.text)?.[1];
        const found = begun === undefined ? [] : Object.keys(slashCommands).filter((known) => known.startsWith(begun));
        if (found.length === 1) this.#editor.text = `/${found[0]} `;
        return true;
      }
      default:
        return false;
    }
  }

  /** The line is finished: an answer, a command, or a message. */
  #submit(): void {
    const { text } = this.#editor;
    const [first] = this.#asked();
    const command = slashCommandIn(text);
    if (this.#confirming !== null) {
      this.#editor.text = "";
      this.#settle(/^y(es)?$/i.test(text.trim()));
    } else if (text.trim() === "") return;
    else if (command !== null) void this.#run(command, this.#editor.take());
    else if (first !== undefined) this.#answer(first, text);
    else void this.#send(this.#editor.take());
  }

  async #send(typed: string): Promise<void> {
    const text = (typed.startsWith("//") ? typed.slice(1) : typed).trimEnd();
    const isSent = await this.#try(() => this.#outbox.post({ type: "thread.send", threadId: this.#threadId, text }, typed));
    if (!isSent && this.#editor.isEmpty) this.#editor.text = typed;
    this.redraw();
  }

  #answer(what: Asked, line: string): void {
    const answer = answerIn(line, what);
    const { runId, requestId } = what;
    if (answer === null) this.#note(`it asks: ${choiceWords(what)}; to send this as a message instead, put /say in front of it`);
    else if (this.#unlooked === requestId) {
      this.#unlooked = null;
      this.#note("that was begun before the question came: Enter again answers with it, /say in front sends it as a message");
    } else {
      const typed = this.#editor.take();
      this.#answered.add(requestId);
      void this.#try(() => this.#outbox.post({ type: "run.answer", runId, requestId, answer }, typed)).then((isAnswered) => {
        if (!isAnswered) this.#answered.delete(requestId);
        this.redraw();
      });
    }
  }

  async #run({ name, rest }: { name: string; rest: string }, typed: string): Promise<void> {
    const command = slashCommands[name];
    if (command === undefined) return this.#note(`there is no /${name}; see /help. To send it as a message: /${typed.trim()}`);
    const hands: Hands = {
      client: this.#client,
      threadId: this.#threadId,
      tell: (lines) => this.redraw(lines.map((line) => style("dim", clean(line)))),
      post: (asks, words) => this.#outbox.post(asks, words),
      confirm: (question) => new Promise((answer) => (this.#confirming = { question, answer })),
      older: () => this.#older(),
      shortened: (id) => this.#reader.shortened(id),
      leave: () => this.leave(),
    };
    const isDone = await this.#try(() => command.run(hands, rest, typed));
    if (!isDone && name === "say" && this.#editor.isEmpty) this.#editor.text = typed;
    this.redraw();
  }

  /** The run under way is stopped; when there is none, or it was asked to stop already, we leave. */
  #interrupt(): void {
    const run = this.#view === null || this.#isLost ? null : (activeTurn(this.#view)?.run ?? null);
    if (this.#confirming !== null) this.#settle(false);
    else if (run !== null && this.#stopping !== run.id) {
      this.#stopping = run.id;
      void this.#try(() => this.#outbox.post({ type: "thread.interrupt", threadId: this.#threadId, runId: run.id as RunId }, "/stop"));
    } else if (run === null && !this.#editor.isEmpty) this.#editor.take();
    else this.leave();
  }

  #settle(yes: boolean): void {
    this.#confirming?.answer(yes);
    this.#confirming = null;
  }

  /** False: it was refused, which was told. */
  async #try(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      const { message, hint } = failureOf(error).refusal;
      const lines = [`${style("red", "error:")} ${oneLine(message)}`, ...(hint === "" ? [] : [style("dim", oneLine(hint))])];
      this.redraw(lines);
      return false;
    }
  }

  #note(text: string): void {
    this.redraw([style("dim", text)]);
  }

  #connection(state: "lost" | "live"): void {
    if (this.#isLost === (state === "lost")) return;
    this.#isLost = state === "lost";
    this.#note(this.#isLost ? "── the environment is away; this goes on when it is back ──" : "── the environment is back ──");
  }

  #asked(): Asked[] {
    return this.#view === null ? [] : asked(this.#view).filter(({ requestId }) => !this.#answered.has(requestId));
  }

  /** A question that comes while something is typed is not to be answered with that by a mere Enter. */
  #look(): void {
    for (const { requestId, isApproval } of this.#asked()) {
      if (!this.#seenRequests.has(requestId) && !isApproval && !this.#editor.isEmpty) this.#unlooked = requestId;
      this.#seenRequests.add(requestId);
    }
  }

  async #beginning({ state, turns, olderThan }: ThreadSnapshot): Promise<string[]> {
    this.#olderThan = olderThan ?? null;
    this.#name = await this.#reader.shortened(this.#threadId);
    for (const { run, items = [], inheritedFrom } of turns) {
      const [first] = items;
      if (inheritedFrom == null && run?.createdBy === undefined && first?.kind === "user_message")
        this.#editor.remember(plainText(first.content));
    }
    const title = style("bold", oneLine(state.title ?? "") || "untitled");
    const more = olderThan == null ? [] : [style("dim", "── what was said before: /older ──")];
    return [`${title}  ${style("dim", this.#name)}`, ...more];
  }

  #below(): Below {
    const [first = null, ...others] = this.#asked();
    return {
      partial: this.#partial,
      asked: first,
      moreAsked: others.length,
      confirm: this.#confirming?.question ?? null,
      queued: queuedTexts(this.#view),
      unsent: this.#outbox.unsent(this.#isLost ? 0 : unsentMs),
      status: statusLine(this.#view, this.#isLost, this.#stopping),
      isLost: this.#isLost,
    };
  }

  async #older(): Promise<void> {
    if (this.#olderThan === null) return this.#note("that was the beginning");
    const page = await this.#reader.older(this.#olderThan);
    this.#olderThan = page.olderThan ?? null;
    const more = this.#olderThan === null ? "that is the beginning" : "more with /older";
    const lines = await this.#transcript.page(page.turns);
    this.redraw([style("dim", "── earlier ──"), ...lines, style("dim", `── ${more} ──`)]);
  }
}
