import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { UserManager } from "../../../support/user-manager.ts";
import { type Answer, config } from "../rig.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

const bin = fileURLToPath(new URL("../../../../bin/ropewalk.js", import.meta.url));
let manager: UserManager | null = null;

beforeAll(async () => {
  manager = await UserManager.start();
  if (manager === null) console.warn("No systemd --user can be started here (needs root, systemd and namespaces): its tests are left out.");
});
afterAll(() => manager?.close());

/** A person's folder, named as unluckily as can be, and what they type. */
function person(at: UserManager, name: string) {
  const dir = join(at.root, name);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "config.json"), JSON.stringify(config({ http: null })));
  writeFileSync(join(dir, "script.json"), JSON.stringify({ rules: [] }));
  const run = (...args: string[]) => at.run([process.execPath, bin, "--dir", dir, ...args]);
  const json = async (...args: string[]): Promise<Answer> => {
    const typed = await run("--json", ...args);
    return { code: typed.code, ...JSON.parse(typed.stdout) };
  };
  const status = () => json("service", "status");
  const untilSo = async (isSo: (state: Answer) => boolean): Promise<Answer> => {
    for (let tries = 0; tries < 60; tries += 1) {
      const now = await status();
      if (now.state !== null && isSo(now)) return now;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    throw new Error(`it did not come about: ${JSON.stringify(await status())}`);
  };
  return { dir, run, json, status, untilSo };
}

const units = (at: UserManager) => join(at.home, ".config", "systemd", "user");

describe("with a real systemd --user", () => {
  test("a service is installed, comes back after kill -9, is started by a command after down, and leaves nothing when removed", async (context) => {
    if (manager === null) return context.skip();
    const box = person(manager, `b "x" 100%h $HOME 'y' \\n ü`);
    const installed = await box.json("service", "install");
    expect(installed).toMatchObject({ code: 0, changed: true, tookOver: null, state: { isRunning: true, isEnabled: true } });
    const { service } = installed;
    const { environment } = await box.json("--no-start", "status");
    expect(await box.status()).toMatchObject({ code: 0, otherPid: null, wrong: [], notes: [], state: { pid: environment.pid } });
    expect((await box.run("service", "status")).stdout).toMatch(
      /running +pid \d+, since \d{4}-\S+ \((just now|\d+ seconds? ago)\), active \(running\)/,
    );
    expect(readFileSync(join(box.dir, "ropewalk.log"), "utf8")).toContain('"msg":"up"');
    expect(readdirSync(join(units(manager), "default.target.wants"))).toEqual([service]);

    // Once more: nothing is to be done, nothing is.
    expect(await box.json("service", "install")).toMatchObject({ changed: false, state: { pid: environment.pid } });
    // Somebody who wants it in the foreground is told where it is.
    expect(await box.json("up")).toMatchObject({
      code: 3,
      refusal: { reason: "store_locked", hint: expect.stringContaining("ropewalk service status") },
    });

    await manager.run(["kill", "-9", String(environment.pid)]);
    const again = await box.untilSo(({ state }) => state.isRunning && state.pid !== null && state.pid !== environment.pid);
    expect(again.state.detail).toContain("started again 1 times");

    expect((await box.run("down")).stdout).toContain(`${service} is started again at the next login`);
    await box.untilSo(({ state }) => !state.isRunning);
    const listed = await box.run("ls");
    expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining("started the environment's service") });
    expect((await box.status()).otherPid).toBeNull();

    expect(await box.json("service", "remove")).toMatchObject({ code: 0, removed: true });
    expect(existsSync(units(manager))).toBe(false);
    expect(await box.run("--no-start", "ls")).toMatchObject({ code: 4 });
    expect((await manager.run(["systemctl", "--user", "list-units", "--all", "--plain", "ropewalk*"])).stdout).not.toContain(service);
    expect(existsSync(join(box.dir, "ropewalk.db"))).toBe(true);
  });

  test("two environments have a service each, and a process in the background gives way to its own", async (context) => {
    if (manager === null) return context.skip();
    const [one, two] = [person(manager, "one"), person(manager, "two")];
    expect((await one.json("up", "--detach")).service).toBe(false);
    const { pid } = (await one.json("status")).environment;
    const installed = await one.json("service", "install");
    expect(installed).toMatchObject({ code: 0, tookOver: pid, state: { isRunning: true } });
    const other = await two.json("service", "install");
    expect(other.service).not.toBe(installed.service);
    expect(await two.json("service", "remove")).toMatchObject({ removed: true });
    expect(await one.status()).toMatchObject({ code: 0, state: { pid: installed.state.pid } });
    expect((await one.run("doctor")).stdout).toMatch(/^fine +service +ropewalk-one-\S+: active \(running\), pid \d+$/m);
    expect(await one.json("up", "--detach", "--listen", "0")).toMatchObject({ started: false });
    await one.json("service", "remove");
  });

  test("a configuration that cannot be used ends the service once; it is not tried again and again, and a command says where to look", async (context) => {
    if (manager === null) return context.skip();
    const box = person(manager, "bad");
    expect(await box.json("service", "install", "--no-start")).toMatchObject({ code: 0, state: { isRunning: false, isEnabled: true } });
    writeFileSync(join(box.dir, "config.json"), "{");
    expect(await box.json("ls")).toMatchObject({
      code: 4,
      refusal: { message: expect.stringContaining("ended at its start"), hint: expect.stringContaining("ropewalk.log") },
    });
    expect((await box.status()).state).toMatchObject({ isRunning: false, detail: expect.stringContaining("exit-code") });
    expect(readFileSync(join(box.dir, "ropewalk.log"), "utf8")).toContain("is not JSON");
    await box.json("service", "remove");
  });
});
