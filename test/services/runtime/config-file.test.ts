import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { EnvironmentConfig } from "../../../schemas/config.ts";
import { freshConfig, loadOrCreateConfig, writeConfig } from "../../../services/runtime/config-file.ts";
import { ids } from "../../support/commit-batches.ts";
import { temporaryFolder } from "../../support/environments.ts";

const file = (dir: string) => join(dir, "config.json");

function folderWith(config: unknown): string {
  const dir = temporaryFolder();
  writeFileSync(file(dir), typeof config === "string" ? config : JSON.stringify(config));
  return dir;
}

function refusalOf(dir: string) {
  const result = loadOrCreateConfig(dir);
  if (result.ok) throw new Error("it was taken");
  expect(result.refusal.message).toContain(file(dir));
  expect(result.refusal.hint).not.toBe("");
  return result.refusal;
}

const link = (more: object = {}) => ({
  id: ids.next("link"),
  name: "a link",
  peer: { environmentId: ids.next("env"), publicKey: "A".repeat(43) },
  grants: [],
  ...more,
});

test("a folder without a configuration gets one, for its owner alone, and keeps it", () => {
  const dir = temporaryFolder();
  const made = loadOrCreateConfig(dir);
  expect(made).toMatchObject({ ok: true, created: true });
  expect(statSync(file(dir)).mode & 0o777).toBe(0o600);
  expect(loadOrCreateConfig(dir)).toEqual({ ...made, created: false });
  expect(readdirSync(dir)).toEqual(["config.json"]);
});

test.each<[string, (config: EnvironmentConfig) => unknown, string]>([
  ["an unknown member", (c) => ({ ...c, provider: {} }), "provider"],
  ["a misspelled limit", (c) => ({ ...c, limits: { taskDept: 3 } }), "limits"],
  ["a missing member", ({ links: _, ...c }) => c, "links"],
  ["a limit of nothing", (c) => ({ ...c, limits: { taskDepth: 0 } }), "limits.taskDepth"],
  ["a retention of no days", (c) => ({ ...c, retention: { deletedThreadsDays: 0 } }), "retention.deletedThreadsDays"],
  ["a retention of half a day", (c) => ({ ...c, retention: { deletedThreadsDays: 0.5 } }), "retention.deletedThreadsDays"],
  ["a retention in words", (c) => ({ ...c, retention: { deletedThreadsDays: "30 days" } }), "retention.deletedThreadsDays"],
  ["a retention of no backups", (c) => ({ ...c, retention: { backupsKept: 0 } }), "leave it out to keep all"],
  ["a misspelled retention", (c) => ({ ...c, retention: { deletedThreadDays: 30 } }), "deletedThreadDays"],
  ["a malformed id", (c) => ({ ...c, environment: { ...c.environment, id: "env:me" } }), "environment.id"],
  ["an unknown kind of provider", (c) => ({ ...c, providers: { p: { kind: "oracle" } } }), "providers.p.kind"],
  ["a provider's unknown member", (c) => ({ ...c, providers: { p: { kind: "scripted", scrpt: "x" } } }), "providers.p"],
  ["a provider name with capitals", (c) => ({ ...c, providers: { P: { kind: "scripted" } } }), "providers"],
  ["a link without a key", (c) => ({ ...c, links: [link({ peer: { environmentId: ids.next("env") } })] }), "links.0.peer.publicKey"],
  ["an unknown grant", (c) => ({ ...c, links: [link({ grants: [{ kind: "everything" }] })] }), "links.0.grants.0.kind"],
  ["a list", () => [], "(top)"],
  ["null", () => null, "(top)"],
])("%s is refused, and the message names the file and the member", (_what, change, member) => {
  const refusal = refusalOf(folderWith(change(freshConfig())));
  expect(refusal).toMatchObject({ code: "invalid_request", reason: "config_invalid" });
  expect(refusal.message).toContain(member);
});

test("two links of one id, or to one peer, are refused", () => {
  const [a, b] = [link(), link()];
  expect(refusalOf(folderWith({ ...freshConfig(), links: [a, { ...b, id: a.id }] })).message).toContain("links.1.id");
  expect(refusalOf(folderWith({ ...freshConfig(), links: [a, { ...b, peer: a.peer }] })).message).toContain("links.1.peer");
});

test("what is no JSON is refused with the place, and left as it is", () => {
  const dir = folderWith('{\n  "environment": {,\n}');
  const before = readFileSync(file(dir), "utf8");
  expect(refusalOf(dir)).toMatchObject({ reason: "config_unreadable", message: expect.stringMatching(/line 2|position/) });
  expect(readFileSync(file(dir), "utf8")).toBe(before);
});

test("a file that cannot be read is told as such, and not taken for none", () => {
  const dir = temporaryFolder();
  mkdirSync(file(dir));
  expect(refusalOf(dir)).toMatchObject({ reason: "config_unreadable", message: expect.stringContaining("cannot be read") });
});

test("a byte order mark in front does no harm", () => {
  expect(loadOrCreateConfig(folderWith(`\ufeff${JSON.stringify(freshConfig())}`))).toMatchObject({ ok: true, created: false });
});

test("a configuration is written whole or not at all: what stands in the way leaves the old one", () => {
  const dir = folderWith(freshConfig());
  const before = readFileSync(file(dir), "utf8");
  mkdirSync(`${file(dir)}.new`);
  expect(() => writeConfig(dir, freshConfig())).toThrow();
  expect(readFileSync(file(dir), "utf8")).toBe(before);
});

test("a link to a file elsewhere stays a link, and that file is written", () => {
  const [dir, elsewhere] = [temporaryFolder(), folderWith(freshConfig())];
  symlinkSync(file(elsewhere), file(dir));
  const config = freshConfig();
  writeConfig(dir, config);
  expect(lstatSync(file(dir)).isSymbolicLink()).toBe(true);
  expect(JSON.parse(readFileSync(file(elsewhere), "utf8"))).toEqual(config);
  expect(existsSync(`${file(elsewhere)}.new`)).toBe(false);
});
