import type { PublicCommand } from "../../../schemas/command.ts";
import type { RunId, ThreadId } from "../../../schemas/ids.ts";
import type { ResultOf } from "../../../schemas/results.ts";
import type { LocalClient } from "../../http/client.ts";
import { fileLines } from "../changed-files.ts";
import { whatGoes } from "../commands/undo.ts";
import { providerChoice, resolve } from "../references.ts";
import { clean } from "../terminal.ts";
import { counted } from "../words.ts";

/** What a slash command may do. */
export type Hands = {
  client: LocalClient;
  threadId: ThreadId;
  tell(lines: readonly string[]): void;
  /** `text`: what was typed. */
  post<C extends PublicCommand>(command: C, text: string): Promise<ResultOf[C["type"]]>;
  /** Asks for yes or no. */
  confirm(question: string): Promise<boolean>;
  older(): Promise<void>;
  shortened(id: string): Promise<string>;
  leave(): void;
};

type SlashCommand = { usage: string; about: string; run(hands: Hands, rest: string, typed: string): Promise<void> };
const diffLines = 200;

export const slashCommands: Record<string, SlashCommand> = {
  stop: {
    usage: "/stop",
    about: "stop the run, what waits behind it, and its subagents",
    run: async ({ post, threadId }, _, typed) => void (await post({ type: "thread.interrupt", threadId }, typed)),
  },
  switch: {
    usage: "/switch INSTANCE[:MODEL]",
    about: "let another agent go on from the next message",
    async run({ post, threadId, tell }, rest, typed) {
      const { provider } = await post({ type: "thread.switch", threadId, provider: providerChoice(rest) }, typed);
      tell([`the next message goes to ${provider}`]);
    },
  },
  fork: {
    usage: "/fork [TITLE]",
    about: "make another thread that goes on from the latest completed run",
    async run({ post, threadId, tell, shortened }, rest, typed) {
      const title = rest === "" ? {} : { title: rest };
      const { threadId: fork } = await post({ type: "thread.fork", threadId, at: { kind: "latest_stable" }, ...title }, typed);
      tell([`go on there with: ropewalk attach ${await shortened(fork)}`]);
    },
  },
  diff: {
    usage: "/diff [RUN]",
    about: "what changed in its files, since they began or in one run",
    async run({ client, threadId, tell }, rest) {
      const run = rest === "" ? {} : { run: await resolve(client, "run", rest, threadId) };
      const { files, patch } = (await client.difference(threadId, run)).difference;
      const lines = clean(patch.trimEnd()).split("\n");
      if (files.length === 0) return tell(["nothing changed"]);
      tell([...fileLines(files), "", ...lines.slice(0, diffLines)]);
      if (lines.length > diffLines) tell([`… ${counted(lines.length - diffLines, "more line")}; see them with: ropewalk diff ${threadId}`]);
    },
  },
  undo: {
    usage: "/undo [RUN|start|back]",
    about: "take the last run back, and its files; or all after RUN; back takes that back",
    async run(hands, rest, typed) {
      const { client, threadId, tell, post, confirm } = hands;
      if (rest === "back") return void (await post({ type: "thread.redo", threadId }, typed));
      const to: RunId | "start" | undefined =
        rest === "" ? undefined : rest === "start" ? rest : await resolve(client, "run", rest, threadId);
      const preview = await client.undoPreview(threadId, to === undefined ? {} : { to });
      tell(whatGoes(preview));
      if (!(await confirm("take this back? y, or n"))) return tell(["nothing was done"]);
      await post({ type: "thread.undo", threadId, ...(to !== undefined && { to: to === "start" ? null : to }) }, typed);
      tell(["take that back with: /undo back"]);
    },
  },
  older: {
    usage: "/older",
    about: "what was said before what is shown here, a page at a time",
    run: ({ older }) => older(),
  },
  say: {
    usage: "/say TEXT",
    about: "send a message while something is asked; //TEXT sends one that begins with /",
    run: async ({ post, threadId }, rest, typed) =>
      void (rest !== "" && (await post({ type: "thread.send", threadId, text: rest }, typed))),
  },
  quit: { usage: "/quit", about: "leave; the thread goes on (so does Ctrl-D)", run: async ({ leave }) => leave() },
  help: {
    usage: "/help",
    about: "this list",
    async run({ tell }) {
      const width = Math.max(...Object.values(slashCommands).map(({ usage }) => usage.length));
      tell([
        ...Object.values(slashCommands).map(({ usage, about }) => `${usage.padEnd(width)}  ${about}`),
        "Enter sends, Alt-Enter begins another line, up and down find what was sent before.",
        "Ctrl-C stops the run under way; when nothing runs, it leaves.",
      ]);
    },
  },
};

/** The command that a line is, and what stands behind it; null for a message. `/usr/bin is full` is one. */
export function slashCommandIn(line: string): { name: string; rest: string } | null {
  const [, name, rest = ""] = /^\/([a-z]+)(?:[ \t]+(.*))?$/s.exec(line.trim()) ?? [];
  return name === undefined ? null : { name, rest: rest.trim() };
}
