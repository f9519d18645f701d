import { config, type World, world } from "../rig.ts";

/** Answers that last until they are told to go on: by an answer, by Ctrl-C, or by how much they say. */
const rules = [
  { match: { contains: "hang after" }, steps: [{ delta: "first line\nsecond li" }, { hang: true }] },
  { match: { contains: "hang" }, steps: [{ hang: true }] },
  {
    match: { contains: "approve" },
    steps: [
      { approval: { text: "rm -rf build", question: "command" }, onAccept: [{ text: "removed" }], onDecline: [{ text: "left alone" }] },
    ],
  },
  { match: { contains: "ask me" }, steps: [{ ask: { text: "Which colour?" } }, { text: "you said $answer" }] },
  { match: { contains: "wait then ask" }, steps: [{ delay: 3_000 }, { ask: { text: "Which colour?" } }, { text: "you said $answer" }] },
  {
    match: { contains: "slowly" },
    steps: Array.from({ length: 8 }, (_, n) => [
      { delta: `piece ${n + 1} of the long answer, ` },
      { delta: n % 3 === 2 ? "\n" : "" },
      { delay: 250 },
    ])
      .flat()
      .concat([{ text: "and the end" } as never]),
  },
  {
    match: { contains: "hostile" },
    steps: [
      { delta: "\u001b]0;owned\u0007\u001b[2Jsafe \u202edlo\u202c\n" },
      { command: { command: "echo \u001b[31mred\u0007 \u202egpj.exe", exitCode: 0 } },
      { tool: { name: "look\u001b[5n", arguments: {}, result: {} } },
      { ask: { text: "really\u001b]52;c;AAAA\u0007?", options: ["yes\u001b[8m", "no"] } },
      { text: "over\u009b3J" },
    ],
  },
  {
    match: { contains: "many" },
    steps: [...Array.from({ length: 60 }, (_, n) => ({ command: { command: `step ${n}`, exitCode: 0 } })), { text: "did many" }],
  },
  { match: { contains: "lengthy" }, steps: [{ text: Array.from({ length: 2_000 }, (_, n) => `line ${n} of it`).join("\n") }] },
  { match: { contains: "wide" }, steps: [{ text: "日本語の文字 and 👩‍👩‍👧 and é" }] },
];

/** A folder with these answers. */
export function attachWorld(): World {
  const box = world(config());
  box.put("script.json", { rules });
  return box;
}

/** How often a text is to be seen. */
export const times = (text: string, part: string): number => text.split(part).length - 1;
