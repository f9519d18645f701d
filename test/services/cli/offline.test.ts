import { execFileSync, spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { world } from "./rig.ts";

/** Commands that need no environment, and start none. */
const box = world(null);
const has = (program: string) => spawnSync(program, ["--version"]).status === 0;

test("the script for bash parses, and completes commands, those below them, and options", async () => {
  const { stdout, code } = await box.run("completion", "bash");
  expect(code).toBe(0);
  execFileSync("bash", ["-n"], { input: stdout });
  const complete = (...words: string[]) =>
    execFileSync(
      "bash",
      ["-c", `eval "$(cat)"; COMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _ropewalk; echo "\${COMPREPLY[*]}"`, "-", ...words],
      {
        input: stdout,
        encoding: "utf8",
      },
    ).trim();
  expect(complete("ropewalk", "mer")).toBe("merge-back");
  expect(complete("ropewalk", "--json", "task", "ca")).toBe("cancel");
  expect(complete("ropewalk", "send", "x", "--tim")).toBe("--timeout");
  expect(complete("ropewalk", "send", "--js")).toBe("--json");
});

test.each(["zsh", "fish"])("the script for %s names every command, and parses where that shell is", async (shell) => {
  const { stdout, code } = await box.run("completion", shell);
  expect(code).toBe(0);
  for (const name of ["up", "merge-back", "unarchive", "dismiss"]) expect(stdout).toContain(name);
  if (has(shell)) execFileSync(shell, ["-n"], { input: stdout });
});

test("charts draw every machine as Mermaid and as data, without an environment", async () => {
  const { stdout } = await box.run("charts", "transfer");
  expect(stdout).toMatch(/^stateDiagram-v2\n {2}\[\*\] --> pending\n/);
  expect(stdout).toContain("  resolved_native --> consumed : consumed [byClaimant]\n");
  expect(stdout).toContain("  superseded --> [*]\n");
  const all = await box.json("charts");
  expect(all.charts.map((chart: { kind: string }) => chart.kind)).toEqual(["thread", "run", "transfer", "task", "link", "move"]);
  expect((await box.json("charts", "run", "--format", "json")).legality.completed["run.accepted"].verdict).not.toBe("accept");
  expect((await box.run("status")).code).toBe(4);
});

test("doctor looks without making anything, and help and version go to standard output", async () => {
  expect(await box.run("doctor")).toMatchObject({ code: 0, stdout: expect.stringMatching(/note +folder .* is not there yet/) });
  const help = await box.run("--help");
  expect(help).toMatchObject({ code: 0, stderr: "" });
  for (const name of [
    "up",
    "down",
    "status",
    "doctor",
    "ls",
    "new",
    "show",
    "send",
    "fork",
    "switch",
    "merge-back",
    "spawn",
    "import",
    "sessions",
    "continue",
    "ok",
    "no",
    "answer",
    "stop",
    "archive",
    "unarchive",
    "delete",
    "project",
    "run",
    "task",
    "transfer",
    "handoff",
    "link",
    "charts",
    "completion",
  ])
    expect(help.stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
});
