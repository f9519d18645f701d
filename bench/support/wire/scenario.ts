import { readFileSync } from "node:fs";

/** One turn of the sync scenario (performance.md): what a person asks, and what the agent says and does. Sizes are bytes. */
export type WireTurn = {
  message: string;
  text: string;
  commands: { command: string; output: string }[];
  tool: { name: string; arguments: Record<string, unknown>; result: string };
};

export type WireText = "repeated" | "varied";

const textBytes = 3_900;
const outputBytes = 4_096;
const historyTurns = 10;

/** Ten turns to open a thread with, and the one that is followed. */
export function wireScenario(text: WireText): { history: WireTurn[]; live: WireTurn } {
  const said = text === "repeated" ? () => repeated : proseOf;
  const history = Array.from({ length: historyTurns }, (_, n) => turn(n, said(n), { commands: 5, resultBytes: 900_000 }));
  return { history, live: turn(historyTurns, said(historyTurns), { commands: 20, resultBytes: 1_100_000 }) };
}

/** One sentence 60 times: 65 characters with its space. */
const repeated = "The parser now keeps every comment where its author had put it.  ".repeat(60);

/** English sentences, a part of its own for each turn, none of them twice. */
function proseOf(turn: number): string {
  const prose = readFileSync(new URL("prose.txt", import.meta.url), "utf8").replaceAll("\n", " ");
  return prose.slice(turn * textBytes, (turn + 1) * textBytes);
}

function turn(n: number, text: string, size: { commands: number; resultBytes: number }): WireTurn {
  const commands = Array.from({ length: size.commands }, (_, i) => ({
    command: `npm test -- part-${i + 1}`,
    output: filled(`turn ${n + 1}, part ${i + 1}: checked case`, outputBytes),
  }));
  const tool = {
    name: "search_files",
    arguments: { pattern: "comment" },
    result: filled(`turn ${n + 1}: found in file`, size.resultBytes),
  };
  return { message: `Please do step ${n + 1} of the plan.`, text, commands, tool };
}

/** Numbered lines, exactly so many bytes. */
function filled(line: string, bytes: number): string {
  const lines: string[] = [];
  for (let [n, size] = [1, 0]; size < bytes; n += 1) {
    const next = `${line} ${n}\n`;
    lines.push(next);
    size += next.length;
  }
  return lines.join("").slice(0, bytes);
}
