import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { renderOpenApi, storedOpenApi } from "../../../deploy/setup/openapi.ts";
import { PublicCommand } from "../../../schemas/command.ts";
import { createHttpApp } from "../../../services/http/app.ts";
import { commandAccess } from "../../../services/runtime/command-access.ts";
import { DescribedApi } from "../../support/openapi.ts";
import { home } from "./rig.ts";

test("docs/openapi.json says what the routes say; else: npm run docs:schemas", () => {
  expect(storedOpenApi()).toBe(renderOpenApi());
});

test("the document is OpenAPI 3.1, and every reference in it leads somewhere", async () => {
  const document = JSON.parse(renderOpenApi());
  const validator = new Validator();
  expect(await validator.validate(document)).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
  const named = new Set(Object.keys(document.components.schemas));
  const used = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? "");
  expect(used.filter((name) => !named.has(name))).toEqual([]);
  expect([...named].filter((name) => !used.includes(name))).toEqual([]);
});

test("every command is in it, with the receipt that it is answered with", () => {
  const { document } = new DescribedApi();
  const send = document.paths["/v1/commands"]?.post as unknown as { "x-receipts": Record<string, { $ref: string }> };
  expect(Object.keys(send["x-receipts"]).sort()).toEqual(Object.keys(commandAccess).sort());
  const types = PublicCommand.options.map((option) => option.shape.type.value);
  expect(Object.keys(send["x-receipts"]).sort()).toEqual([...types].sort());
});

test("every operation has a name of its own, says what access it needs, and what it refuses with", () => {
  const { operations } = new DescribedApi();
  const names = operations.map(([, , { operationId }]) => operationId);
  expect(new Set(names).size).toBe(names.length);
  for (const [, path, operation] of operations) {
    expect([path, (operation as unknown as { "x-access": string })["x-access"]]).toEqual([path, expect.stringMatching(/./)]);
    expect(operation.responses.default).toEqual({ $ref: "#/components/responses/Problem" });
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(operation.parameters?.filter((one) => one.in === "path").map((one) => one.name) ?? []).toEqual(named);
  }
});

test("the API answers with its own document, and with what its problems mean", async () => {
  const { environment } = await home();
  const app = createHttpApp(environment);
  const document = (await (await app.request("/v1/openapi.json")).json()) as { paths: object; openapi: string };
  expect(document.openapi).toBe("3.1.1");
  // What is for the socket's owner is described where it is answered.
  expect(document.paths).not.toHaveProperty("/v1/shutdown");
  const { type } = (await (await app.request("/v1/threads/x")).json()) as { type: string };
  expect(await (await app.request(type)).json()).toEqual({ code: "invalid_request", title: "The request cannot be used" });
});
