import { expect, test } from "vitest";
import { Conversation } from "../../../services/sessions/conversation.ts";

const say = (to: Conversation, role: "user" | "assistant", text: string) => to.add({ role, text, createdAt: null }, text.slice(0, 8));

test("however much is said, what is kept fits an import: the newest, and a note in place of the rest", () => {
  const conversation = new Conversation();
  // Each takes six bytes as JSON.
  for (let n = 0; n < 60; n += 1) say(conversation, "user", `${n} ${"\u0001".repeat(190_000)}`);
  const messages = conversation.messages();
  expect(Buffer.byteLength(JSON.stringify(messages))).toBeLessThan(33 * 1024 * 1024);
  expect(messages.length).toBeGreaterThan(20);
  expect(messages.at(-1)?.text.startsWith("59 ")).toBe(true);
  expect(messages[0]?.text).toBe(`(${61 - messages.length} earlier messages are left out here.)`);
  expect(conversation.leftOut.olderMessages).toBe(61 - messages.length);
});

test("more than was said cannot be taken back, and what is taken back takes its answers with it", () => {
  const conversation = new Conversation();
  for (const n of [1, 2, 3]) {
    say(conversation, "user", `ask ${n}`);
    say(conversation, "assistant", `answer ${n}`);
  }
  conversation.takeBack(1);
  expect(conversation.messages().map((message) => message.text)).toEqual(["ask 1", "answer 1", "ask 2", "answer 2"]);
  expect([conversation.turns, conversation.position]).toEqual([2, "answer 2"]);
  conversation.takeBack(9);
  expect([conversation.turns, conversation.isEmpty, conversation.firstWords]).toEqual([0, true, ""]);
  say(conversation, "user", "anew");
  expect([conversation.turns, conversation.firstWords]).toEqual([1, "anew"]);
});
