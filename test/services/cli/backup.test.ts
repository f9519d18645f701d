import { existsSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { world } from "./rig.ts";

test("backup and restore from the command line: of a running environment and of a stopped one, and the restored one goes on", async () => {
  const box = world();
  const thread = await box.json("new", "--title", "kept").then((made) => made.threadId);
  await box.json("send", thread, "secret walnut");
  const running = await box.run("backup");
  expect(running.code).toBe(0);
  expect(running.stdout).toMatch(/^\S+backups\/box-\d{8}T\d{6}Z: \d+ files, .+, up to commit \d+\nIt holds the environment's keys/);
  expect((await box.json("backup", "--list")).backups).toHaveLength(1);

  await box.run("down");
  const { backup } = await box.json("backup", join(box.dir, "..", "elsewhere"), "--keep", "3");
  expect(existsSync(join(backup.path, "manifest.json"))).toBe(true);

  const refused = await box.run("--json", "restore", backup.path);
  expect(refused).toMatchObject({ code: 2, json: { ok: false, refusal: { reason: "folder_not_empty" } } });
  const into = join(box.dir, "..", "again");
  expect(await box.run("--json", "restore", backup.path, "--into", into)).toMatchObject({
    code: 2,
    json: { refusal: { reason: "original_is_there", hint: expect.stringContaining("--beside") } },
  });
  expect(existsSync(into)).toBe(false);

  renameSync(box.dir, `${box.dir}-lost`);
  const restored = await box.run("restore", backup.path);
  expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining(`start it with: ropewalk --dir ${box.dir} up --detach`) });
  expect(readdirSync(box.dir)).not.toContain("openings");
  expect((await box.json("show", thread)).items.map((item: { body: { content: { text: string } } }) => item.body.content.text)).toEqual([
    "secret walnut",
    "noted walnut",
  ]);
  expect((await box.json("send", thread, "secret hazel")).run.status).toBe("completed");
  expect((await box.run("doctor")).code).toBe(0);
});

test("a backup that cannot be made says why, with the code of what has to be typed instead", async () => {
  const box = world();
  await box.json("new");
  expect(await box.run("--json", "backup", join(box.dir, "config.json"))).toMatchObject({
    code: 2,
    json: { refusal: { reason: "backup_unwritable" } },
  });
  expect(await box.run("--json", "backup", "--keep", "none")).toMatchObject({ code: 2, json: { refusal: { reason: "not_a_number" } } });
  expect(await box.run("--json", "restore", box.dir, "--into", join(box.dir, "x"))).toMatchObject({
    code: 2,
    json: { refusal: { reason: "not_a_backup" } },
  });
  const empty = world(null);
  expect(await empty.run("--json", "backup")).toMatchObject({ code: 2, json: { refusal: { reason: "no_environment" } } });
});
