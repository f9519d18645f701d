import { expect, test } from "vitest";
import type { ClientGrant } from "../../../schemas/client.ts";
import { resourcesNamed } from "../../../services/oauth/resource.ts";
import { narrowedBy, parseScope, scopeOf } from "../../../services/oauth/scope.ts";

const grant: ClientGrant = {
  name: "x",
  maxModes: { runtimeMode: "auto", interactionMode: "default" },
  access: ["reads", "writes", "starts_threads"],
};
const asked = (scope: string) => narrowedBy(grant, parseScope(scope) ?? expect.fail("not understood"));

test("a request can only ask for less than the code gives", () => {
  expect(asked("")).toEqual({ maxModes: grant.maxModes, access: grant.access });
  expect(asked("reads writes_environment")).toEqual({ maxModes: grant.maxModes, access: ["reads"] });
  expect(asked("runtime:full-access interaction:default")).toEqual({ maxModes: grant.maxModes, access: grant.access });
  expect(asked("reads runtime:approval-required interaction:plan")).toEqual({
    maxModes: { runtimeMode: "approval-required", interactionMode: "plan" },
    access: ["reads"],
  });
  expect(asked("writes_environment").access).toEqual([]);
});

test("of several modes that are asked for the broadest counts, and words of others are passed over", () => {
  expect(asked("runtime:approval-required runtime:auto-accept-edits").maxModes.runtimeMode).toBe("auto-accept-edits");
  expect(asked("openid reads offline_access").access).toEqual(["reads"]);
  expect(parseScope("openid offline_access")).toBeNull();
  expect(parseScope("READS")).toBeNull();
});

test("what was given is told as a scope that would ask for the same", () => {
  const scope = scopeOf(grant);
  expect(scope).toBe("reads writes starts_threads runtime:auto interaction:default");
  expect(asked(scope)).toEqual({ maxModes: grant.maxModes, access: grant.access });
});

test("a resource is one of this environment's own, as it was called; none means all", () => {
  const origin = "http://127.0.0.1:4321";
  expect(resourcesNamed([], origin)).toEqual(["mcp", "v1"]);
  for (const all of [origin, `${origin}/`]) expect(resourcesNamed([all], origin)).toEqual(["mcp", "v1"]);
  for (const mcp of [`${origin}/mcp`, `${origin}/mcp/`, "HTTP://127.0.0.1:4321/mcp"])
    expect(resourcesNamed([mcp], origin)).toEqual(["mcp"]);
  expect(resourcesNamed([`${origin}/v1`], origin)).toEqual(["v1"]);
  expect(resourcesNamed([`${origin}/v1`, `${origin}/mcp`], origin)).toEqual(["mcp", "v1"]);
  const foreign = ["http://127.0.0.1:4322/mcp", "https://127.0.0.1:4321/mcp", "http://localhost:4321/mcp", "http://evil.example/mcp"];
  for (const wrong of [
    ...foreign,
    `${origin}/mcp/x`,
    `${origin}/other`,
    `${origin}/mcp?x`,
    `${origin}/mcp#x`,
    "http://u@127.0.0.1:4321/mcp",
    "mcp",
    "",
  ])
    expect([wrong, resourcesNamed([wrong], origin)]).toEqual([wrong, null]);
  expect(resourcesNamed([`${origin}/mcp`, "http://evil.example/mcp"], origin)).toBeNull();
});
