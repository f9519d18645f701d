import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { type AppServerChild, type Exit, type StartChild, startChild } from "../../services/providers/codex/process.ts";

type Frame = { id?: number | string; method?: string; params?: Record<string, unknown>; result?: unknown; error?: unknown };
/** One line of a recording: a frame of ours, one of Codex's, or the end of the process. */
export type Line = { sent: Frame } | { got: Frame } | { exit: Exit };

const fileOf = (name: string) => join(import.meta.dirname, "..", "fixtures", "codex", `${name}.jsonl`);

export const readRecording = (name: string): Line[] =>
  readFileSync(fileOf(name), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);

/** About the machine and not about a turn, or long. */
const leftOut = new Set([
  "remoteControl/status/changed",
  "configWarning",
  "warning",
  "account/rateLimits/updated",
  "thread/started",
  "thread/settings/updated",
  "thread/readState/changed",
]);
const emptied = new Set(["codexHome", "instructionSources", "environments", "developer_instructions"]);

/** Writes a recording, with `places` (real path or address → placeholder) taken out. */
export function writeRecording(name: string, lines: Line[], places: Record<string, string>): void {
  const kept = lines.filter((line) => !("got" in line) || !leftOut.has(line.got.method ?? ""));
  const text = kept.map((line) =>
    JSON.stringify(line, (key, value: unknown) => {
      if (emptied.has(key) || (key === "path" && String(value).endsWith(".jsonl"))) return undefined;
      return key === "userAgent" ? String(value).split(" ")[0] : value;
    }),
  );
  const clean = (line: string) => Object.entries(places).reduce((rest, [real, place]) => rest.replaceAll(real, place), line);
  writeFileSync(fileOf(name), `${text.map(clean).join("\n")}\n`);
}

/** Starts the real app-server and writes down what goes over its pipes. */
export function recorder(lines: Line[]): { start: StartChild; children: AppServerChild[] } {
  const children: AppServerChild[] = [];
  const start: StartChild = (launch) => {
    const child = startChild(launch);
    children.push(child);
    const note = (way: "sent" | "got") => {
      let rest = "";
      return (chunk: Buffer | string) => {
        const parts = (rest + chunk.toString()).split("\n");
        rest = parts.pop() ?? "";
        for (const part of parts) if (part.startsWith("{")) lines.push({ [way]: JSON.parse(part) } as Line);
      };
    };
    child.stdout.on("data", note("got"));
    const write = child.stdin.write.bind(child.stdin) as (chunk: string) => boolean;
    const noteSent = note("sent");
    child.stdin.write = ((chunk: string) => {
      noteSent(chunk);
      return write(chunk);
    }) as typeof child.stdin.write;
    void child.exited.then(({ code, signal }) => {
      if (signal !== null) lines.push({ exit: { code, signal } });
    });
    return child;
  };
  return { start, children };
}

/**
 * An app-server that is a recording: whenever ours sends what was sent then, it says what Codex said then. `sent` is what
 * ours really sent; a frame that was not sent then ends the process, with the difference on standard error.
 */
export function replay(lines: Line[]): { start: StartChild; sent: Frame[] } {
  const sent: Frame[] = [];
  const start: StartChild = () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const exit = Promise.withResolvers<Exit>();
    const rest = [...lines];
    // As of a real process, its end is told when its last word has been read.
    const die = (how: Exit) => stdout.once("end", () => exit.resolve(how)).end();
    const ids = new Map<unknown, unknown>();
    const speak = () => {
      for (let next = rest[0]; next !== undefined && !("sent" in next); next = rest[0]) {
        rest.shift();
        if ("exit" in next) die(next.exit);
        // An answer goes to the request of ours that stands in the place of the recorded one.
        else stdout.write(`${JSON.stringify(next.got.method === undefined ? { ...next.got, id: ids.get(next.got.id) } : next.got)}\n`);
      }
    };
    const hear = (frame: Frame) => {
      sent.push(frame);
      const next = rest.shift();
      const then = next && "sent" in next ? next.sent : undefined;
      if (then?.method !== frame.method || (frame.method === undefined && then?.id !== frame.id)) {
        stderr.write(`the recording has ${JSON.stringify(then)}, not ${JSON.stringify(frame)}\n`);
        die({ code: 70, signal: null });
        return;
      }
      if (frame.method !== undefined) ids.set(then?.id, frame.id);
      speak();
    };
    const stdin = new Writable({
      write(chunk: Buffer, _encoding, done) {
        for (const line of chunk.toString().split("\n")) if (line !== "") hear(JSON.parse(line) as Frame);
        done();
      },
      final(done) {
        die({ code: 0, signal: null });
        done();
      },
    });
    return { stdin, stdout, stderr, exited: exit.promise, kill: (signal) => die({ code: null, signal }) };
  };
  return { start, sent };
}
