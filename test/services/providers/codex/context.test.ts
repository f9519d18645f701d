import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { additionalContext, piecesOf } from "../../../../services/providers/codex/context.ts";

describe("handoffs as additional context", () => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom("\n", "a", "é", "漢", "😀"), fc.string({ unit: "grapheme" })), maxLength: 400 });

  it("Pieces join to the text, none is longer than the limit, and none cuts a character", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 4, max: 50 }), (whole, limit) => {
        const pieces = piecesOf(whole, limit);
        expect(pieces.join("")).toBe(whole);
        for (const piece of pieces) expect(Buffer.byteLength(piece)).toBeLessThanOrEqual(limit);
        if (whole.isWellFormed()) for (const piece of pieces) expect(piece.isWellFormed()).toBe(true);
      }),
    );
  });

  it("Keys sort in the order of the artefacts and their pieces, and no other attempt has the same", () => {
    const artefacts = Array.from({ length: 11 }, (_, index) => `${index} `.repeat(3_000));
    const entries = additionalContext(artefacts, "attempt:0197f000-0000-7000-8000-0000000000aa") ?? {};
    const keys = Object.keys(entries);
    expect(keys.toSorted()).toEqual(keys);
    expect(keys.map((key) => entries[key]?.value).join("")).toBe(artefacts.join(""));
    const others = additionalContext(artefacts, "attempt:0197f000-0000-7000-8000-0000000000bb") ?? {};
    expect(Object.keys(others).filter((key) => key in entries)).toEqual([]);
  });

  it("Nothing to tell is not told", () => {
    expect(additionalContext([], "attempt:x")).toBeUndefined();
  });
});
