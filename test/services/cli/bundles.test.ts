import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { config, world } from "./rig.ts";

test("a thread is exported to a file, imported by another environment, and shown there as here; what is damaged is refused", async () => {
  const [home, away] = [world(), world(config({ environment: { id: "env:01a22d31-9dc2-7749-a2be-2bb293e1a299", name: "away" } }))];
  const thread = (await home.json("new", "--title", "kept")).threadId;
  await home.json("send", thread, "secret walnut");
  const file = join(home.dir, "..", "story.bundle");
  const out = await home.json("export", thread, "-o", file);
  expect(out).toMatchObject({ threadId: thread, file, unfinishedRuns: 0 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await home.run("--json", "export", thread, "-o", file)).toMatchObject({ code: 2, json: { refusal: { reason: "file_exists" } } });

  const made = await away.json("import", file);
  expect(made).toMatchObject({ created: true, content: out.content });
  const here = (await away.run("show", made.threadId)).stdout;
  expect(here).toContain("secret walnut");
  const strip = (text: string) => text.replaceAll(/thread:\S+/g, "ID").replaceAll(/[^\n]*(ago|just now)/g, "");
  expect(strip(here)).toBe(strip((await home.run("show", thread)).stdout));

  const text = readFileSync(file, "utf8");
  const damaged = away.put("damaged.bundle", text.replace("noted walnut", "noted hazel"));
  expect(await away.run("--json", "import", damaged)).toMatchObject({ code: 2, json: { refusal: { reason: "bundle_damaged" } } });
  const newer = away.put("newer.bundle", text.replace('"version":1', '"version":7'));
  const refused = await away.run("--json", "import", newer);
  expect(refused).toMatchObject({ code: 2, json: { refusal: { reason: "bundle_newer", hint: expect.stringContaining("npm i") } } });
  expect(await away.run("--json", "import", file, "--to", "x")).toMatchObject({
    code: 2,
    json: { refusal: { reason: "not_with_a_bundle" } },
  });
  expect((await away.json("ls")).threads).toHaveLength(1);
  expect(existsSync(`${file}.part`)).toBe(false);
});
