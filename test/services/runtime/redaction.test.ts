import fc from "fast-check";
import { expect, test } from "vitest";
import { Needle, purgedMark, whyNotPurged } from "../../../services/runtime/redaction/needle.ts";
import { mapTexts } from "../../../services/runtime/redaction/texts.ts";
import "../../support/seed.ts";

const secret = 'sk-"a\\b"\nnäöü🧵-0815';

test("a text is found and replaced as it is, in JSON, in JSON in JSON, with escapes for what is not ASCII, and in an address", () => {
  const once = JSON.stringify({ text: secret });
  const twice = JSON.stringify({ arguments: once });
  const ascii = once.replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  for (const text of [secret, once, twice, ascii, `https://x.example/?key=${encodeURIComponent(secret)}`]) {
    const needle = new Needle(secret);
    expect(needle.isIn(text)).toBe(true);
    expect(needle.replaceIn(text)).toContain(purgedMark);
    expect(needle.isIn(needle.replaceIn(text))).toBe(false);
    expect(needle.replaceInBytes(Buffer.from(text)).toString()).toBe(needle.replaceIn(text));
  }
});

test("whatever the text is, a record without it is the same record, and holds no form of it", () => {
  const text = fc
    .string({ minLength: 6, maxLength: 30, unit: "grapheme" })
    .filter((t) => whyNotPurged(t) === null && !purgedMark.includes(t));
  fc.assert(
    fc.property(text, fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (secret, before, after) => {
      const needle = new Needle(secret);
      const record = { kind: "user_message", content: { text: `${before}${secret}${after}` }, inner: JSON.stringify([secret]) };
      const clean = mapTexts(record, { words: (words) => needle.replaceIn(words) }) as typeof record;
      expect(clean.kind).toBe("user_message");
      expect(JSON.parse(clean.inner)).toEqual([purgedMark]);
      expect(needle.isIn(JSON.parse(JSON.stringify(clean.content)).text) && clean.content.text.includes(secret)).toBe(false);
    }),
    { numRuns: 300 },
  );
});

test("what is left of a text where a title or a preview was cut goes too, and half of it elsewhere stays", () => {
  const needle = new Needle("sk-ant-0123456789abcdef");
  expect(needle.replaceIn("my key is sk-ant-0123456789ab")).toBe("my key is [purged]");
  expect(needle.replaceIn("my key is sk-ant-0123456789ab…")).toBe("my key is [purged]…");
  expect(needle.replaceIn("…3456789abcdef was it")).toBe("…[purged] was it");
  expect(needle.replaceIn("keys begin with sk-ant-01234 and go on")).toBe("keys begin with sk-ant-01234 and go on");
});

test("case counts, and what is too short, too common or no text is refused with what to do", () => {
  expect(new Needle("Kingfisher").isIn("kingfisher")).toBe(false);
  for (const [text, reason] of [
    ["short", "text_too_short"],
    ["  abc  ", "text_too_short"],
    ["aaaaaaaa", "text_too_common"],
    ["\ud800abcdefg", "malformed"],
    ["x1y2".repeat(3_000), "limit_exceeded"],
  ] as const)
    expect(whyNotPurged(text)).toMatchObject({ reason, hint: expect.stringMatching(/./) });
});

test("ids, kinds, digests and places of a record are not words", () => {
  const record = {
    kind: "command",
    id: "run:01a22d31-9dc2-7749-a2be-2bb293e1a298",
    digest: "a".repeat(64),
    command: "make",
    by: "user",
    reason: "thread_running",
    note: "why not",
  };
  expect(mapTexts(record, { words: () => "-" })).toEqual({ ...record, command: "-", note: "-" });
});
