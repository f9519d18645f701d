import { posix } from "node:path";
import { expect, test } from "vitest";
import { renderJsonSchemas, staleJsonSchemas } from "../../deploy/setup/json-schema.ts";

test("docs/schemas says what schemas/ says; else: npm run docs:schemas", async () => {
  expect(await staleJsonSchemas()).toEqual([]);
});

test("the same schemas are always written in the same order", async () => {
  expect([...(await renderJsonSchemas())]).toEqual([...(await renderJsonSchemas())]);
});

test("every reference between the files leads to a definition", async () => {
  const pages = await renderJsonSchemas();
  const defined = new Set(
    [...pages].flatMap(([page, text]) => Object.keys(JSON.parse(text).$defs).map((name) => `${page}#/$defs/${name}`)),
  );
  const references = [...pages].flatMap(([page, text]) =>
    [...text.matchAll(/"\$ref": "([^"]+)"/g)].map(([, ref = ""]) => {
      const [file, path] = ref.split("#");
      return `${file === "" ? page : posix.join(posix.dirname(page), file ?? "")}#${path}`;
    }),
  );
  expect(references.length).toBeGreaterThan(100);
  expect(references.filter((reference) => !defined.has(reference))).toEqual([]);
});
