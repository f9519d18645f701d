import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filesWith, objectsWith } from "../../support/byte-search.ts";
import { git } from "../../support/repository.ts";
import { fork, startInRepository, worktreeOf } from "../workspace/rig.ts";

const key = 'sk-ant-"0815"\\näöü-KINGFISHER';

test("a key in a message, a file, a checkpoint and a handoff is found in each of them, and is in no byte afterwards", {
  timeout: 120_000,
}, async () => {
  const rig = await startInRepository();
  const { env, repository } = rig;
  const source = await env.newThread({ projectId: rig.projectId, title: `about ${key}` });
  await env.say(source, `my key is ${key}, keep it`);
  const target = await fork(env, source);
  await env.say(target, `write key.txt the key ${key}\n`);
  await env.say(target, `write other.txt nothing`);
  const before = await env.purges.look(key);
  const what = new Set(before.places.map((place) => place.what));
  expect([...what].sort()).toEqual(["actors", "checkpoint", "file", "items", "journal"]);
  expect(JSON.stringify(before)).not.toContain("KINGFISHER");
  expect(objectsWith(repository, key).length).toBeGreaterThan(0);
  const report = await env.purges.purge(key);
  expect(report.left).toEqual([]);
  expect(filesWith(env.dir, key)).toEqual([]);
  expect(objectsWith(repository, key)).toEqual([]);
  expect(filesWith(repository, key)).toEqual([]);
  expect(readFileSync(join(worktreeOf(env, target), "key.txt"), "utf8")).toContain("[purged]");
  git(repository, "fsck", "--full");
  expect(env.threads.items(source)[0]?.body).toMatchObject({ content: { text: "my key is [purged], keep it" } });
});
