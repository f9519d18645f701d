import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { HomeShell } from "../support/home-shell.ts";

// Each starts several processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const recorded = fileURLToPath(new URL("../fixtures/sessions/", import.meta.url));

/** A home folder in which both programs have been used, and an environment there has the scripted provider. */
function person(codex: string, claude: string): HomeShell {
  const shell = new HomeShell();
  cpSync(join(recorded, codex), join(shell.home, ".codex"), { recursive: true });
  cpSync(join(recorded, claude), join(shell.home, ".claude"), { recursive: true });
  mkdirSync(shell.dir, { recursive: true });
  const config = {
    environment: { id: "env:01a22d31-9dc2-7749-a2be-2bb293e1a298", name: "home" },
    providers: { scripted: { kind: "scripted", script: "script.json" } },
    defaultProvider: "scripted",
    nats: null,
    links: [],
    limits: {},
  };
  writeFileSync(join(shell.dir, "config.json"), JSON.stringify(config));
  const rules = [{ match: { contains: "codeword?" }, steps: [{ recall: "codeword is (\\w+)" }] }];
  writeFileSync(join(shell.dir, "script.json"), JSON.stringify({ rules }));
  return shell;
}

test.each([
  ["codex-0.171", "claude-2.1"],
  ["codex-0.60", "claude-1.0"],
])(
  "in a home folder with sessions of %s and %s two commands lead from nothing to a continued answer, and their files stay",
  async (codex, claude) => {
    await using shell = person(codex, claude);
    const before = shell.left();
    const list = await shell.ropewalk();
    expect(list.code).toBe(0);
    // Each program's session with the codeword has several turns.
    const numberOf = (agent: string) => new RegExp(`^ *(\\d+) {2}${agent} .* [46] turns `, "m").exec(list.stdout)?.[1] ?? "";
    const answer = await shell.ropewalk("continue", numberOf("Claude Code"), "what is the codeword?", "--with", "scripted");
    expect(answer).toMatchObject({ code: 0, stdout: "codeword is marline\n" });
    console.log(
      `${codex}, ${claude}: ${shell.typed} commands, ${shell.seconds.toFixed(1)} s from the first line to the first continued answer`,
    );
    expect(shell.typed).toBeLessThanOrEqual(3);
    expect(shell.left()).toEqual(before);
    const other = await shell.ropewalk("continue", numberOf("Codex"), "and what is the codeword?");
    expect(other).toMatchObject({ code: 0, stdout: "codeword is marline\n" });
    expect(shell.left()).toEqual(before);
  },
);
