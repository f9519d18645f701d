import { expect, test } from "vitest";
import { renderReference, storedReference } from "../../deploy/setup/reference.ts";

test.each([...renderReference()])("the guide's %s says what the program says; if not: npm run docs:reference", (name, text) => {
  expect(storedReference(name)).toBe(text);
});
