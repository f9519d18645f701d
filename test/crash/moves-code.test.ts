import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { privateRefs, stateOf, worktreeOf, worktreesOf } from "../services/workspace/rig.ts";
import { until } from "../support/environments.ts";
import { killedEnvironment } from "../support/killed-environment.ts";
import { allGrants, settled } from "../support/linked.ts";
import { commit, handoffRefs, movingScene, type Scene, tipOf, write } from "../support/moving-code.ts";
import { TestNats } from "../support/nats.ts";
import { git } from "../support/repository.ts";
import { shareOf } from "./boundary.ts";

const nats = await TestNats.start();
afterAll(() => nats.end());

/** Work that is committed on a branch of its own and not pushed, and work that is not committed. */
async function scene(): Promise<Scene & { head: string; before: unknown }> {
  const at = await movingScene(
    (a, b) => {
      git(b, "branch", "feature");
      git(a, "switch", "-q", "-c", "feature");
      write(a, "feature.txt", "1");
      commit(a, "unpushed");
      write(a, "new.txt", "untracked");
    },
    { nats: nats.url, transport: () => undefined },
  );
  await settled(at.a.side, at.b.side);
  return { ...at, head: tipOf(at.a.repository, "refs/heads/feature"), before: stateOf(at.a.repository) };
}

const commandOf = ({ threadId, b }: Scene) => ({ type: "thread.move", threadId, environmentId: b.side.id }) as const;
const decided = (at: Scene) =>
  until(() => at.a.side.env.moves.list({ thread: at.threadId }).find((move) => move.endedAt !== null), "the move to be decided");

async function expectMoved(at: Awaited<ReturnType<typeof scene>>): Promise<void> {
  const move = await decided(at);
  expect(move).toMatchObject({ status: "departed", error: null, left: [] });
  const path = worktreeOf(at.b.side.env, move.targetThreadId);
  expect(readFileSync(join(path, "new.txt"), "utf8")).toBe("untracked");
  expect(git(path, "rev-parse", "HEAD").trim()).toBe(at.head);
  expect(tipOf(at.b.repository, "refs/heads/feature")).toBe(at.head);
  expect(worktreesOf(at.b.repository)).toEqual([path]);
  expect(stateOf(at.a.repository)).toEqual(at.before);
  expect(handoffRefs(at.b.repository)).toEqual([]);
  await until(() => privateRefs(at.b.repository).every((ref) => ref.endsWith("/base")), "what was for undoing to go");
  expect(await at.b.side.env.say(move.targetThreadId, "write more.txt x")).toMatchObject({ status: "completed" });
  expect(existsSync(join(path, "more.txt"))).toBe(true);
  expect(at.a.side.env.threads.get(at.threadId)).toMatchObject({ status: "departed" });
}

test.each(shareOf(["after step code.kept", "after step code.packed"]))(
  "the source, killed %s and started again, moves its work",
  async (killAt) => {
    const at = await scene();
    await at.a.side.stop();
    await killedEnvironment({ dir: at.a.side.dir, commands: [{ id: "cmd:test:move", command: commandOf(at) }], killAt });
    await at.a.side.start();
    await expectMoved(at);
  },
);

const ofPeer = [
  "after step code.taken",
  "after step branch.moved",
  "after step worktree.added",
  "after step worktree.filled",
  "after step code.placed",
  "before commit *thread.created*",
  "after commit *thread.created*",
  "before effect move.settle",
  "after effect move.settle",
];
test.each(shareOf(ofPeer))("the peer, killed %s and started again, has the thread with its work", async (killAt) => {
  const at = await scene();
  await at.b.side.stop();
  const killed = killedEnvironment({ dir: at.b.side.dir, commands: [], killAt });
  await at.a.side.env.send(commandOf(at));
  await killed;
  await at.b.side.start();
  await expectMoved(at);
});

test.each(shareOf(["untouched", "moved on"]))(
  "what was prepared for a thread that is refused in the end is undone after a kill, by compare and swap: the branch was %s meanwhile",
  async (branch) => {
    const at = await scene();
    const { a, b } = { a: at.a.side, b: at.b.side };
    const was = tipOf(at.b.repository, "refs/heads/feature");
    await b.stop();
    const agreed = killedEnvironment({ dir: b.dir, commands: [], killAt: "after commit *outbox.answer*" });
    await a.env.send(commandOf(at));
    await agreed;
    // Its owner takes the grant away before the thread is offered; all else is prepared by then.
    b.links = b.links.map((link) => ({ ...link, grants: allGrants.filter((grant) => grant.kind !== "move") }));
    const config = JSON.parse(readFileSync(join(b.dir, "config.json"), "utf8"));
    writeFileSync(join(b.dir, "config.json"), JSON.stringify({ ...config, links: b.links }));
    await killedEnvironment({ dir: b.dir, commands: [], killAt: "before effect move.settle" });
    expect([tipOf(at.b.repository, "refs/heads/feature"), worktreesOf(at.b.repository).length]).toEqual([at.head, 1]);
    const tree = git(at.b.repository, "rev-parse", `${at.head}^{tree}`).trim();
    const byHand = git(at.b.repository, "commit-tree", tree, "-p", at.head, "-m", "by hand").trim();
    if (branch === "moved on") git(at.b.repository, "update-ref", "refs/heads/feature", byHand);
    await b.start();
    expect(await decided(at)).toMatchObject({ status: "failed", error: { code: "capability_denied" } });
    await until(() => privateRefs(at.b.repository).length === 0 && worktreesOf(at.b.repository).length === 0, "what was prepared to go");
    expect(tipOf(at.b.repository, "refs/heads/feature")).toBe(branch === "moved on" ? byHand : was);
    expect(b.env.threads.list()).toEqual([]);
    expect(await a.env.say(at.threadId, "write more.txt x")).toMatchObject({ status: "completed" });
  },
);
