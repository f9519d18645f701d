import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent, StartAgent } from "../../services/providers/claude/agent.ts";
import type { AgentOptions, Frame, PermissionAnswer, PermissionRequest, UserMessage } from "../../services/providers/claude/protocol.ts";
import type { Exit } from "../../services/providers/claude/spawn.ts";

type Ours = { options: AgentOptions } | { sent: UserMessage } | { answered: PermissionAnswer } | { interrupted: true } | { ended: true };
type Theirs = { ready: true } | { failed: string } | { got: Frame } | { asked: Omit<PermissionRequest, "signal"> } | { exit: Exit };
/** One line of a recording: what went to, or came from, the `agent`-th process of it. */
export type Line = { agent: number } & (Ours | Theirs);

const fileOf = (name: string) => join(import.meta.dirname, "..", "fixtures", "claude", `${name}.jsonl`);

export const readRecording = (name: string): Line[] =>
  readFileSync(fileOf(name), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);

/** About the machine and not about a turn, or long. */
const leftOut = new Set(["init", "status", "thinking_tokens", "api_retry"]);
const emptied = new Set(["env", "usage", "pathToClaudeCodeExecutable", "tool_result_meta", "subagent_stats", "timestamp", "suggestions"]);

/** Writes a recording, with `places` (real path → placeholder) taken out. */
export function writeRecording(name: string, lines: Line[], places: Record<string, string>): void {
  const kept = lines.filter((line) => !("got" in line) || !leftOut.has(line.got.subtype ?? ""));
  const text = kept.map((line) => JSON.stringify(line, (key, value: unknown) => (emptied.has(key) ? undefined : value)));
  const clean = (line: string) => Object.entries(places).reduce((rest, [real, place]) => rest.replaceAll(real, place), line);
  writeFileSync(fileOf(name), `${text.map(clean).join("\n")}\n`);
}

/** Starts the real thing with `start`, and writes down what is said on both sides. */
export function recorder(start: StartAgent, lines: Line[]): { start: StartAgent; agents: Agent[] } {
  const agents: Agent[] = [];
  return {
    agents,
    start: (options, ask, mark) => {
      const agent = agents.length;
      const note = (line: Ours | Theirs) => lines.push({ agent, ...line });
      note({ options });
      const real = start(
        options,
        async (request) => {
          const { signal: _signal, ...asked } = request;
          note({ asked });
          const answered = await ask(request);
          note({ answered });
          return answered;
        },
        mark,
      );
      real.ready.then(
        () => note({ ready: true }),
        (error: Error) => note({ failed: error.message }),
      );
      void real.exited.then((exit) => note({ exit }));
      let over = false;
      const frames = async function* () {
        for await (const got of real.frames) {
          note({ got });
          yield got;
        }
      };
      const recorded: Agent = {
        ...real,
        frames: frames(),
        send: (sent) => {
          note({ sent });
          real.send(sent);
        },
        interrupt: () => {
          note({ interrupted: true });
          return real.interrupt();
        },
        // Said once; and to one that was killed not at all: there, its end comes by itself.
        endInput: () => {
          if (!over) note({ ended: true });
          over = true;
          real.endInput();
        },
        kill: (signal) => {
          over = true;
          real.kill(signal);
        },
      };
      agents.push(recorded);
      return recorded;
    },
  };
}

/**
 * Claude Code as a recording: whenever ours says what was said then, it says what Claude said then. `said` is what ours really
 * said; something that was not said then ends the process, with the difference on standard error.
 */
export function replay(lines: Line[]): { start: StartAgent; said: Ours[] } {
  const said: Ours[] = [];
  let started = 0;
  const start: StartAgent = (options, ask) => {
    const own = lines.filter(({ agent }) => agent === started).slice(1);
    started += 1;
    said.push({ options });
    const ready = Promise.withResolvers<void>();
    ready.promise.catch(() => undefined);
    const exited = Promise.withResolvers<Exit>();
    // A request comes when what was said before it has been heard.
    const waiting: (Frame | (() => void))[] = [];
    let over = false;
    let wake: () => void = () => {};
    const die = (exit: Exit) => {
      over = true;
      exited.resolve(exit);
      ready.reject(new Error(`Claude Code process exited with code ${exit.code}`));
      wake();
    };
    const speak = () => {
      for (let next = own[0]; next !== undefined && !isOurs(next); next = own[0]) {
        own.shift();
        if ("ready" in next) ready.resolve();
        else if ("failed" in next) ready.reject(new Error(next.failed));
        else if ("exit" in next) die(next.exit);
        else if ("asked" in next) {
          const request = { ...next.asked, signal: new AbortController().signal };
          waiting.push(() => void ask(request).then((answered) => hear({ answered })));
          wake();
        } else if ("got" in next) {
          waiting.push(next.got);
          wake();
        }
      }
    };
    const hear = (line: Ours) => {
      said.push(line);
      const [kind = ""] = Object.keys(line);
      const next = own[0];
      if (over) return;
      if (next === undefined || !(kind in next)) {
        if (kind === "ended") die({ code: 0, signal: null, stderr: "" });
        else die({ code: 70, signal: null, stderr: `the recording has ${JSON.stringify(next)}, not ${JSON.stringify(line)}` });
        return;
      }
      own.shift();
      speak();
    };
    queueMicrotask(speak);
    const frames = async function* () {
      for (;;) {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          if (typeof next === "function") next();
          else yield next;
        }
        if (over) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    return {
      frames: frames(),
      ready: ready.promise,
      send: (sent) => hear({ sent }),
      interrupt: async () => hear({ interrupted: true }),
      endInput: () => hear({ ended: true }),
      kill: (signal) => die({ code: null, signal, stderr: "" }),
      exited: exited.promise,
    };
  };
  return { start, said };
}

function isOurs(line: Ours | Theirs): line is Ours {
  return "sent" in line || "answered" in line || "interrupted" in line || "ended" in line || "options" in line;
}
