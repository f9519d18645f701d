import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../support/environments.ts";
import { commandsOf, PageIds } from "../support/guide-page.ts";
import { HomeShell } from "../support/home-shell.ts";
import { npm, pack } from "../support/packed.ts";
import { git } from "../support/repository.ts";

// Each types dozens of commands, on a machine that may be busy.
vi.setConfig({ testTimeout: 600_000 });

const recorded = fileURLToPath(new URL("../fixtures/sessions/", import.meta.url));
/** Of what the real programs left there, the sessions of which the pages speak. */
const sessions = {
  ".claude": { from: "claude-2.1", holding: "44e1251d-75a4-4ca3-acd8-78b7a962f506" },
  ".codex": { from: "codex-0.171", holding: "01a22dce-e4b3-7b81-a1f9-2445a91d45c5" },
};

/** Somebody who has used both programs in a repository of theirs. In place of the real agents, scripted ones of the same names. */
function person(): HomeShell {
  const shell = new HomeShell();
  const repository = join(shell.home, "code", "rope");
  mkdirSync(repository, { recursive: true });
  git(repository, "init");
  writeFileSync(join(repository, "rope.txt"), "one\ntwo\nthree\n");
  writeFileSync(join(repository, "test.js"), "sleep(50)\n");
  git(repository, "add", ".");
  git(repository, "commit", "-m", "first");
  for (const [folder, { from, holding }] of Object.entries(sessions)) {
    const all = join(recorded, from);
    for (const name of readdirSync(all, { recursive: true, encoding: "utf8" }).filter((path) => path.includes(`${holding}.jsonl`))) {
      const copy = join(shell.home, folder, name);
      cpSync(join(all, name), copy);
      writeFileSync(copy, readFileSync(copy, "utf8").replaceAll('"/workspace"', JSON.stringify(repository)));
    }
  }
  mkdirSync(shell.dir, { recursive: true });
  const scripted = { kind: "scripted", script: "agents.json" };
  const config = { environment: { id: "env:01a22d31-9dc2-7749-a2be-2bb293e1a298", name: "laptop" }, nats: null, links: [], limits: {} };
  const providers = { providers: { codex: scripted, claude: scripted }, defaultProvider: "codex" };
  writeFileSync(join(shell.dir, "config.json"), JSON.stringify({ ...config, ...providers }));
  cpSync(fileURLToPath(new URL("agents.json", import.meta.url)), join(shell.dir, "agents.json"));
  return shell;
}

/** Installs the package of this tree for a person, as the page says it of the published one. */
function installed(shell: HomeShell): string {
  const { tarball } = pack(temporaryFolder());
  return npm(
    shell.home,
    "install",
    "--global",
    "--prefix",
    join(shell.home, ".local"),
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
    tarball,
  );
}

test.each(["get-started.md", "a-day.md"])("every command of %s answers what the page says, in the order of the page", async (page) => {
  await using shell = person();
  const ids = new PageIds();
  const commands = commandsOf(page);
  expect(commands.length).toBeGreaterThan(5);
  for (const { command, answer, line } of commands) {
    const typed = command === "npm install --global ropewalk" ? installed(shell) : (await shell.type(ids.typed(command))).answer;
    expect(ids.compare(answer, typed), `${page}:${line}: ${command}`).toBeNull();
  }
});
