import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { launchAgent } from "../../../../services/cli/service/launch-agent.ts";
import { serviceName } from "../../../../services/cli/service/name.ts";
import { readRecord } from "../../../../services/cli/service/record.ts";
import type { Program } from "../../../../services/cli/service/service.ts";
import { hasControl, serviceEnv } from "../../../../services/cli/service/service-env.ts";
import { systemdUnit } from "../../../../services/cli/service/systemd-unit.ts";
import { temporaryFolder } from "../../../support/environments.ts";

const nasty = `a "b" 'c' 100%h %% $HOME \${X} \\n ü 雪 -- & <x> ;#\\`;

function program(root: string, name = nasty): Program {
  const record = { dir: join(root, name, "box"), node: join(root, name, "node"), bin: join(root, name, "ropewalk.js"), version: "1.2.3" };
  const args = [record.node, record.bin, "--dir", record.dir, "up", "--as-background"];
  return { record, arguments: args, env: { PATH: `/usr/bin:${root}/${name}`, LANG: "C.UTF-8" }, log: join(record.dir, "ropewalk.log") };
}

/** Any text that a path can hold and a unit may. */
const names = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 30 })
  .filter((t) => !hasControl(t) && !t.includes("/") && t.isWellFormed());

test("a unit is found good by systemd-analyze, whatever its paths hold", () => {
  for (const name of ["plain", nasty]) {
    const made = program(temporaryFolder(), name);
    mkdirSync(made.record.dir, { recursive: true });
    // It is to be a program that can be run.
    writeFileSync(made.record.node, "#!/bin/sh\n");
    chmodSync(made.record.node, 0o755);
    const file = join(temporaryFolder(), "ropewalk.service");
    writeFileSync(file, systemdUnit(made));
    const home = temporaryFolder();
    const env = { PATH: "/usr/bin:/bin", HOME: home, XDG_RUNTIME_DIR: home, LC_ALL: "C" };
    // It complains on standard error and also where it ends with 0, as of a key that it does not know.
    expect(execFileSync("sh", ["-c", 'systemd-analyze verify --user "$1" 2>&1', "sh", file], { env, encoding: "utf8" })).toBe("");
  }
});

test("a property list says the same to a real parser, whatever its paths hold", () => {
  const read = "import json,plistlib,sys; print(json.dumps([plistlib.loads(t.encode()) for t in json.load(sys.stdin)]))";
  const made = [nasty, ...fc.sample(names, 100)].map((name) => program("/Users/someone", name));
  const input = JSON.stringify(made.map((p) => launchAgent("ropewalk", p)));
  const parsed = JSON.parse(execFileSync("python3", ["-c", read], { input, encoding: "utf8", maxBuffer: 1 << 26 }));
  for (const [at, { arguments: args, env, log }] of made.entries())
    expect(parsed[at]).toEqual({
      Label: "ropewalk",
      ProgramArguments: args,
      EnvironmentVariables: env,
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      ThrottleInterval: 30,
      ExitTimeOut: 60,
      Umask: 63,
      StandardOutPath: log,
      StandardErrorPath: log,
    });
});

test("both kinds of file tell what they were made for, and other files do not", () => {
  fc.assert(
    fc.property(names, (name) => {
      const made = program("/home/someone", name);
      expect(readRecord(systemdUnit(made))).toEqual(made.record);
      expect(readRecord(launchAgent("ropewalk", made))).toEqual(made.record);
    }),
  );
  for (const text of ["", "[Unit]\nDescription=ropewalk\n", "# made by ropewalk service install: {}\n"])
    expect(readRecord(text)).toBeNull();
});

test("what a service is given: what agents need to be found, and no secret", () => {
  const shell = {
    PATH: "/opt/agents:/usr/bin",
    LANG: "de_DE.UTF-8",
    CODEX_HOME: "/home/a/.codex",
    HOME: "/home/a",
    OPENAI_API_KEY: "sk-1",
    ANTHROPIC_API_KEY: "sk-2",
    GITHUB_TOKEN: "ghp",
    SSH_AUTH_SOCK: "/tmp/ssh",
    HTTPS_PROXY: "http://user:word@proxy:3128",
    HTTP_PROXY: "http://proxy:3128",
    CLAUDE_CONFIG_DIR: "a\nb",
  };
  expect(serviceEnv(shell)).toEqual({
    env: { PATH: "/opt/agents:/usr/bin", LANG: "de_DE.UTF-8", CODEX_HOME: "/home/a/.codex", HTTP_PROXY: "http://proxy:3128" },
    leftOut: ["CLAUDE_CONFIG_DIR", "HTTPS_PROXY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
  });
});

test("the usual folder's service has the plain name, others one of their own, the same however the folder is named", () => {
  const home = temporaryFolder();
  const env = { HOME: home, XDG_DATA_HOME: join(home, "data") };
  const usual = join(home, "data", "ropewalk");
  expect(serviceName(usual, env)).toBe("ropewalk");
  expect(serviceName(usual, { ...env, ROPEWALK_DIR: "/elsewhere" })).toBe("ropewalk");
  const other = serviceName(join(home, "My Work!"), env);
  expect(other).toMatch(/^ropewalk-my-work-[0-9a-f]{8}$/);
  expect(serviceName(`${home}/data/../My Work!/`, env)).toBe(other);
  expect(serviceName(join(home, "b", "ropewalk"), env)).toMatch(/^ropewalk-[0-9a-f]{8}$/);
});
