import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { config, world } from "./rig.ts";

test("up on an empty folder makes an environment, says where it listens, keeps others out, and ends cleanly by a signal", async () => {
  const box = world(null);
  const up = await box.up();
  expect(up.stdout()).toMatch(
    /^\S+ is up \(env:[0-9a-f-]{36}\); stop it with Ctrl-C\nfolder +\S+\nlistens +\S+ropewalk\.sock \(this user only\)\nprograms +come in at http:\/\/127\.0\.0\.1:\d+ when let in: ropewalk client add\n$/,
  );
  expect(statSync(join(box.dir, "ropewalk.sock")).mode & 0o777).toBe(0o600);
  expect(statSync(join(box.dir, "config.json")).mode & 0o777).toBe(0o600);

  const second = await box.run("--json", "up");
  expect(second).toMatchObject({ code: 3, json: { ok: false, refusal: { code: "orchestration_error", reason: "store_locked" } } });
  expect(second.stderr).toContain("already running");

  up.child.kill("SIGTERM");
  expect(await up.ended).toMatchObject({ code: 0, stderr: "stopped\n" });
  expect(existsSync(join(box.dir, "ropewalk.sock"))).toBe(false);
  expect(await box.run("--json", "status")).toMatchObject({ code: 4, json: { running: false } });
});

test("a command starts one in the background when none runs, and says so once; --no-start forbids it; down ends it", async () => {
  const box = world();
  const forbidden = await box.run("--json", "--no-start", "ls");
  expect(forbidden).toMatchObject({
    code: 4,
    json: { ok: false, refusal: { reason: "not_reachable", hint: expect.stringContaining("ropewalk up") } },
  });
  expect(existsSync(join(box.dir, "ropewalk.db"))).toBe(false);

  // Both want to start one; one does, the other waits for it.
  const [one, two] = await Promise.all([box.run("new"), box.run("new")]);
  expect([one.code, two.code]).toEqual([0, 0]);
  expect(`${one.stderr}${two.stderr}`.match(/started the environment in the background \(pid \d+/g)).toHaveLength(1);
  const third = await box.run("ls");
  expect(third.stderr).toBe("");
  expect(third.stdout.trim().split("\n")).toHaveLength(2);
  expect(statSync(join(box.dir, "ropewalk.log")).mode & 0o777).toBe(0o600);
  const log = readFileSync(join(box.dir, "ropewalk.log"), "utf8").trim().split("\n");
  expect(log.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ msg: "up", socket: join(box.dir, "ropewalk.sock") }),
  );

  const { pid } = (await box.client.environment()).environment;
  expect(await box.run("up", "--detach")).toMatchObject({ code: 0, stdout: expect.stringContaining(`already (pid ${pid})`) });
  expect(await box.run("down")).toMatchObject({ code: 0, stdout: "stopped\n" });
  expect(await box.run("down")).toMatchObject({ code: 0, stdout: expect.stringContaining("no environment is running") });
});

test("a start in the background that fails tells why, as the foreground would", async () => {
  const box = world({ ...config(), providers: { a: { kind: "abacus" } } });
  for (const args of [["ls"], ["up"]]) {
    const { code, json, stderr } = await box.run("--json", ...args);
    expect({ code, json }).toMatchObject({
      code: 2,
      json: { ok: false, refusal: { reason: "config_invalid", message: expect.stringContaining("providers.a.kind") } },
    });
    expect(stderr).toMatch(/^error: .*config\.json.*\nhint: .*\n$/m);
  }
  expect(await box.run("doctor")).toMatchObject({ code: 3, stdout: expect.stringMatching(/^wrong +config .*providers\.a\.kind/m) });
});

test("a socket and a lock that a killed process left are no obstacle", async () => {
  const box = world();
  const up = await box.up();
  const threadId = await box.thread("kept", "hello");
  up.child.kill("SIGKILL");
  await up.ended;
  expect(lstatSync(join(box.dir, "ropewalk.sock")).isSocket()).toBe(true);
  expect(await box.run("--no-start", "ls")).toMatchObject({ code: 4 });
  expect(await box.run("show", threadId)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("ok: hello"),
    stderr: expect.stringContaining("started"),
  });
});

test("something else in the socket's place is not taken away", async () => {
  const box = world();
  box.put("ropewalk.sock", "a file of mine");
  const { code, stderr } = await box.run("up");
  expect(code).toBe(1);
  expect(stderr).toContain("is in the way");
  expect(readFileSync(join(box.dir, "ropewalk.sock"), "utf8")).toBe("a file of mine");
});

test("a folder whose path is too long for a socket: one elsewhere, found without XDG_RUNTIME_DIR too", async () => {
  const box = world(config(), "long".repeat(30));
  const runtime = join(box.dir, "..", "run");
  mkdirSync(runtime, { mode: 0o700 });
  const up = await box.up({ env: { XDG_RUNTIME_DIR: runtime } });
  expect(up.stdout()).toMatch(/listens +\S+\/run\/ropewalk-[0-9a-f]{16}\.sock/);
  expect(await box.run("--no-start", "ls")).toMatchObject({ code: 0 });
  up.child.kill("SIGTERM");
  await up.ended;
  expect(lstatSync(join(box.dir, "ropewalk.sock"), { throwIfNoEntry: false })).toBeUndefined();
});

test("without a broker everything but the links works, and status and doctor say which is wrong", async () => {
  const port = await freePort();
  const link = {
    id: "link:01a22d31-9dc2-7749-a2be-2bb293e1a299",
    name: "laptop",
    peer: { environmentId: "env:01a22d31-9dc2-7749-a2be-2bb293e1a200", publicKey: somebodysKey() },
    grants: [],
  };
  const box = world(config({ nats: { url: `nats://127.0.0.1:${port}` }, links: [link] }));
  const up = await box.up();
  const threadId = await box.thread("works", "hello");
  expect((await box.run("status")).stdout).toMatch(/links +laptop: (offline|connecting)/);
  expect((await box.run("link", "list")).stdout).toMatch(/^laptop +(offline|connecting)/);
  expect((await box.run("link", "show", "laptop")).stdout).toMatch(/sent +0 \(epoch 1\)/);
  expect((await box.run("doctor")).stdout).toMatch(new RegExp(`^note +links +NATS does not answer at nats://127.0.0.1:${port}`, "m"));
  const sent = await box.run("--json", "import", "--thread", threadId, "--to", "laptop", "--handoff", "h1", "--timeout", "200ms");
  expect(sent).toMatchObject({ code: 5, json: { ok: false, threadId: expect.stringMatching(/^thread:import:/), answer: null } });
  up.child.kill("SIGTERM");
  expect(await up.ended).toMatchObject({ code: 0 });
});

test("where the folder is: --dir, ROPEWALK_DIR, an absolute XDG_DATA_HOME; a HOME of nowhere is told, not guessed at", async () => {
  const box = world(null);
  const dirOf = async (env: NodeJS.ProcessEnv, ...args: string[]) =>
    (await box.start(["--json", "status", ...args], { dir: false, env }).ended).json?.dir;
  expect(await dirOf({ ROPEWALK_DIR: "/a", XDG_DATA_HOME: "/b" }, "--dir", "/c")).toBe("/c");
  expect(await dirOf({ ROPEWALK_DIR: "/a", XDG_DATA_HOME: "/b" })).toBe("/a");
  expect(await dirOf({ ROPEWALK_DIR: "", XDG_DATA_HOME: "/b" })).toBe("/b/ropewalk");
  expect(await dirOf({ XDG_DATA_HOME: "relative", HOME: "/h" })).toBe("/h/.local/share/ropewalk");
});

test("up works for a user whose HOME does not exist, and through a link to its folder", async () => {
  const box = world();
  const alias = join(box.dir, "..", "alias");
  symlinkSync(box.dir, alias);
  await box.up({ env: { HOME: "/nowhere", XDG_DATA_HOME: "not/absolute", XDG_RUNTIME_DIR: "/nowhere" } });
  expect(await box.start(["--dir", alias, "--no-start", "ls"], { dir: false }).ended).toMatchObject({ code: 0 });
});

test("a reader that closes the pipe early is no fault", async () => {
  const box = world();
  await box.up();
  for (let n = 0; n < 3; n += 1) await box.thread(`thread ${n}`);
  const script = `"$0" "$1" --dir "$2" ls | true; echo "\${PIPESTATUS[0]}"`;
  const bin = new URL("../../../bin/ropewalk.js", import.meta.url).pathname;
  expect(execFileSync("bash", ["-c", script, process.execPath, bin, box.dir], { encoding: "utf8" })).toBe("0\n");
});

function somebodysKey(): string {
  return generateKeyPairSync("x25519").publicKey.export({ format: "jwk" }).x ?? "";
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("a link whose pinned key is no key that can be used is refused by its name, and nothing is started", async () => {
  const peer = { environmentId: "env:01a22d31-9dc2-7749-a2be-2bb293e1a299", publicKey: Buffer.alloc(32).toString("base64url") };
  const link = { id: "link:01a22d31-9dc2-7749-a2be-2bb293e1a290", name: "attic", peer, grants: [] };
  const box = world(config({ nats: { url: `nats://127.0.0.1:${await freePort()}` }, links: [link] }));
  const up = await box.run("--json", "up");
  expect(up).toMatchObject({ code: 2, json: { refusal: { reason: "peer_key_unusable", message: expect.stringContaining("attic") } } });
  expect(existsSync(join(box.dir, "ropewalk.sock"))).toBe(false);
});
