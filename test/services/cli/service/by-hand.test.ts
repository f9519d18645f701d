import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { config, world } from "../rig.ts";

/** A person without a session bus: the file is all that can be done. */
function person() {
  const box = world(config());
  const home = join(box.dir, "..", "home");
  mkdirSync(home);
  const run = (...args: string[]) =>
    box.start(args, { env: { HOME: home, XDG_RUNTIME_DIR: join(home, "nowhere"), OPENAI_API_KEY: "sk-secret" } }).ended;
  return { box, home, units: join(home, ".config", "systemd", "user"), run };
}
const only = (folder: string) => join(folder, readdirSync(folder).find((name) => name.endsWith(".service")) ?? "none");

test.runIf(process.platform === "linux")(
  "where systemd cannot be asked, the file is written, the commands are said, and a process in the background does meanwhile",
  async () => {
    const { box, units, run } = person();
    expect(await run("service", "status")).toMatchObject({ code: 4, stdout: expect.stringContaining("not installed") });
    const installed = await run("service", "install");
    expect(installed).toMatchObject({ code: 0, stderr: "" });
    const unit = only(units);
    const text = readFileSync(unit, "utf8");
    expect(statSync(unit).mode & 0o777).toBe(0o644);
    expect(text).toContain(`"--dir" "${box.dir}" "up" "--as-background"`);
    expect(text).toContain(`ExecStart=:"${process.execPath}" "`);
    expect(text).not.toContain("sk-secret");
    expect(installed.stdout).toContain("OPENAI_API_KEY");
    expect(installed.stdout).toMatch(/systemctl --user daemon-reload\n {2}systemctl --user enable --now ropewalk-\S+\.service\n/);
    expect(statSync(join(box.dir, "ropewalk.log")).mode & 0o777).toBe(0o600);

    expect(await run("--json", "service", "install")).toMatchObject({ code: 0, json: { changed: false, commands: expect.any(Array) } });
    expect(await run("service", "status")).toMatchObject({ code: 4, stdout: expect.stringContaining("cannot be told") });
    const listed = await run("ls");
    expect(listed).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/is installed, but systemd cannot be asked[\s\S]*started the environment in the background/),
    });
    expect(await run("doctor")).toMatchObject({
      stdout: expect.stringMatching(/^note +service +ropewalk-\S+ is installed, but systemd cannot be asked/m),
    });

    // It goes with what runs, and nothing is left of it.
    expect(await run("service", "remove")).toMatchObject({ code: 0, stdout: expect.stringContaining("removed") });
    expect(existsSync(join(units, "..", ".."))).toBe(true);
    expect(existsSync(join(units, ".."))).toBe(false);
    expect(await run("--no-start", "ls")).toMatchObject({ code: 4 });
    expect(await run("service", "remove")).toMatchObject({ code: 0, stdout: expect.stringContaining("there is no service") });
  },
);

test.runIf(process.platform === "linux")(
  "a unit of that name that a person wrote is neither changed nor removed; one that names a node that is gone is found by doctor",
  async () => {
    const { units, run } = person();
    await run("service", "install");
    const unit = only(units);
    const made = readFileSync(unit, "utf8");
    writeFileSync(unit, made.replaceAll(process.execPath.replaceAll("-", "\\u002d"), "/gone/node"));
    expect(await run("doctor")).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^wrong +service +the service starts \/gone\/node, which is gone$/m),
    });
    expect(await run("--json", "service", "install")).toMatchObject({ code: 0, json: { changed: true } });
    expect(readFileSync(unit, "utf8")).toBe(made);

    mkdirSync(join(units, "default.target.wants"));
    symlinkSync("/usr/lib/systemd/user/somebody.service", join(units, "default.target.wants", "somebody.service"));
    const own = "[Service]\nExecStart=/bin/true\n";
    writeFileSync(unit, own);
    expect(await run("--json", "service", "install")).toMatchObject({ code: 3, json: { refusal: { reason: "service_foreign" } } });
    expect(await run("service", "remove")).toMatchObject({ code: 0, stdout: expect.stringContaining("there is no service") });
    expect(readFileSync(unit, "utf8")).toBe(own);
    expect(readdirSync(join(units, "default.target.wants"))).toEqual(["somebody.service"]);
  },
);

test("doctor says where programs come in, who was let in, and what is wrong with that", async () => {
  const { box, run } = person();
  box.put("clients.json", "not JSON");
  expect(await run("doctor")).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/^wrong +network +\S+clients\.json cannot be read/m),
  });
  box.put("clients.json", { clients: [] });
  expect((await run("doctor")).stdout).toMatch(/^note +network +others may read who is let in/m);
  const quiet = world(config({ http: { tls: { cert: "no.pem", key: "no.key" } } }));
  expect((await quiet.run("doctor")).stdout).toMatch(/^wrong +network +http\.tls\.cert cannot be read/m);
  const open = world();
  await open.up();
  expect((await open.run("doctor")).stdout).toMatch(/^fine +network +listens at http:\/\/127\.0\.0\.1:\d+; 0 programs let in$/m);
});
