import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { BackupManifest } from "../../../schemas/backup.ts";
import { restoreFrom } from "../../../services/backing-up.ts";
import { sealed } from "../../../services/backup/manifest.ts";
import { startEnvironment, temporaryFolder } from "../../support/environments.ts";
import { refusedWith } from "./rig.ts";

describe("a backup that cannot be trusted is refused, and nothing is written", () => {
  async function aBackup() {
    const env = await startEnvironment();
    await env.say(await env.newThread(), "hello");
    const { path } = await env.backups.make({ to: join(temporaryFolder(), "backups") });
    await env.close();
    rmSync(env.dir, { recursive: true });
    return path;
  }

  const changed = (path: string, change: (manifest: BackupManifest) => object) => {
    const file = join(path, "manifest.json");
    writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, "utf8")))));
  };

  const wrong: [what: string, reason: string, spoil: (path: string) => void][] = [
    ["a byte of the store is another", "backup_damaged", (path) => flip(join(path, "ropewalk.db"), 5_000)],
    ["a byte of the configuration is another", "backup_damaged", (path) => flip(join(path, "files", "config.json"), 20)],
    ["a file is gone", "backup_damaged", (path) => rmSync(join(path, "files", "keys", "link.json"))],
    [
      "a file is cut short",
      "backup_damaged",
      (path) => writeFileSync(join(path, "ropewalk.db"), readFileSync(join(path, "ropewalk.db")).subarray(0, -1)),
    ],
    [
      "a file is a link",
      "backup_damaged",
      (path) => {
        rmSync(join(path, "files", "config.json"));
        symlinkSync("/etc/hostname", join(path, "files", "config.json"));
      },
    ],
    ["the manifest forgets a file", "backup_damaged", (path) => changed(path, (m) => ({ ...m, files: m.files.slice(1) }))],
    ["the manifest names another commit", "backup_damaged", (path) => changed(path, (m) => ({ ...m, commit: m.commit + 1 }))],
    [
      "the manifest is cut off",
      "backup_damaged",
      (path) => writeFileSync(join(path, "manifest.json"), readFileSync(join(path, "manifest.json")).subarray(0, -100)),
    ],
    [
      "a path leads out of the folder",
      "backup_damaged",
      (path) =>
        changed(path, ({ digest: _, ...m }) =>
          sealed({ ...m, files: m.files.map((f, at) => (at === 1 ? { ...f, path: "files/../../out" } : f)) }),
        ),
    ],
    ["it is of a newer version", "backup_newer", (path) => changed(path, (m) => ({ ...m, version: 2 }))],
    ["it is another program's", "not_a_backup", (path) => changed(path, (m) => ({ ...m, format: "other" }))],
    ["it is a folder without a manifest", "not_a_backup", (path) => rmSync(join(path, "manifest.json"))],
  ];

  test.each(wrong)("%s", async (_what, reason, spoil) => {
    const path = await aBackup();
    spoil(path);
    const parent = temporaryFolder();
    await expect(restoreFrom(path, { into: join(parent, "again") })).rejects.toEqual(refusedWith(reason));
    expect(readdirSync(parent)).toEqual([]);
  });

  test("the target is not empty", async () => {
    const path = await aBackup();
    const into = temporaryFolder();
    writeFileSync(join(into, "mine.txt"), "mine");
    await expect(restoreFrom(path, { into })).rejects.toEqual(refusedWith("folder_not_empty"));
    expect(readdirSync(into)).toEqual(["mine.txt"]);
  });
});

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] as number) ^ 1;
  writeFileSync(file, bytes);
}
