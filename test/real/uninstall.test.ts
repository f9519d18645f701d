import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ThreadId } from "../../schemas/ids.ts";
import { connectLocal } from "../../services/http/client.ts";
import { findCodexBinary } from "../../services/providers/codex/binary.ts";
import { config } from "../services/cli/rig.ts";
import { HomeShell } from "../support/home-shell.ts";
import { ModelEndpoint, type ModelRule, say, when } from "../support/model-endpoint.ts";
import { realPackage } from "../support/real-packages.ts";
import { RealSessions } from "../support/real-sessions.ts";
import { git, makeRepository } from "../support/repository.ts";

/** A model that knows what its conversation holds, and nothing else. */
const remembers: ModelRule = ({ transcript, prompt }) =>
  prompt.includes("which codeword?") ? say(/codeword is (\w+)/.exec(transcript.join("\n"))?.[1] ?? "I do not know") : undefined;

test("after an uninstall the real Codex goes on by itself with the sessions that ropewalk had it hold, a fork's in a worktree too", async () => {
  const endpoint = await ModelEndpoint.start(remembers, when("codeword", say("Noted.")));
  onTestFinished(() => endpoint[Symbol.asyncDispose]());
  using sessions = await RealSessions.create("codex", endpoint.baseUrl);
  await using person = new HomeShell({}, sessions.home);
  const { path: bin } = findCodexBinary({ env: {}, roots: [await realPackage("codex")] });
  const env = { PATH: "/usr/bin:/bin", HOME: sessions.home, TMPDIR: join(sessions.home, "tmp"), FAKE_KEY: "dummy-key-of-a-test" };
  const codex = { kind: "codex", bin, home: join(sessions.home, ".codex"), env };
  mkdirSync(person.dir, { recursive: true, mode: 0o700 });
  writeFileSync(join(person.dir, "config.json"), JSON.stringify(config({ providers: { codex }, defaultProvider: "codex" })), {
    mode: 0o600,
  });
  const repository = join(sessions.home, "rope");
  makeRepository(repository);
  const before = { refs: git(repository, "for-each-ref"), worktrees: git(repository, "worktree", "list") };

  const json = async (...args: string[]) => {
    const typed = await person.ropewalk("--json", ...args);
    expect(typed).toMatchObject({ code: 0 });
    return JSON.parse(typed.stdout);
  };
  const { projectId } = await json("project", "add", repository);
  const { threadId: mine } = await json("new", "--project", projectId, "the codeword is heron");
  const { threadId: fork } = await json("fork", mine);
  await json("send", fork, "and the codeword is still heron");
  const client = connectLocal(person.dir);
  const sessionOf = async (threadId: ThreadId) => (await client.providerThreads(threadId)).providerThreads[0]?.nativeRef.id ?? "";
  const held = [await sessionOf(mine), await sessionOf(fork)];
  client.close();
  expect(new Set(held).size).toBe(2);
  expect(git(repository, "worktree", "list").trim().split("\n")).toHaveLength(2);
  const kept = person.left();

  expect(await person.ropewalk("uninstall", "--yes")).toMatchObject({ code: 0 });
  expect({ refs: git(repository, "for-each-ref"), worktrees: git(repository, "worktree", "list") }).toEqual(before);
  expect(readdirSync(join(sessions.home, ".local", "share"))).toEqual([]);
  // What Codex had written is as it was, and Codex goes on with it.
  expect(person.left()).toEqual(kept);
  for (const id of held) {
    expect(await sessions.say("which codeword?", id)).toBe(id);
    expect(endpoint.requests.at(-1)?.transcript.join("\n")).toContain("the codeword is heron");
  }
});
