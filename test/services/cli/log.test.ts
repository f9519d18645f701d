import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openLog } from "../../../services/cli/log.ts";
import { RotatingFile } from "../../../services/cli/rotating-file.ts";
import { temporaryFolder } from "../../support/environments.ts";
import { OAuthProgram } from "../../support/oauth-program.ts";
import { config, until, world } from "./rig.ts";

const filler = fileURLToPath(new URL("../../support/log-filler.ts", import.meta.url));

/** The numbers of all lines that are there, from the oldest file on. */
function numbersIn(file: string): number[] {
  // A process that is killed while it moves them leaves a gap in their numbers, until the next rotation.
  const numbers = readdirSync(join(file, "..")).flatMap((name) => /\.(\d+)$/.exec(name)?.[1] ?? []);
  const files = [
    ...numbers
      .map(Number)
      .sort((a, b) => b - a)
      .map((number) => `${file}.${number}`),
    file,
  ];
  return files.flatMap((path) =>
    readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => (JSON.parse(line) as { n: number }).n),
  );
}

const counted = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test("a log that is filled past its bound is spread over as many files as are kept, without a line lost or twice, and none above the bound", () => {
  const file = join(temporaryFolder(), "ropewalk.log");
  const log = openLog(file);
  log.bound({ maxBytes: 4_096, keep: 100 });
  for (let n = 1; n <= 1_000; n += 1) log.info({ n, pad: "x".repeat(n % 200) }, "line");
  expect(numbersIn(file)).toEqual(counted(1, 1_000));
  const sizes = readdirSync(join(file, "..")).map((name) => statSync(join(file, "..", name)));
  expect(sizes.length).toBeGreaterThan(20);
  expect(sizes.filter((s) => s.size > 4_096 || (s.mode & 0o777) !== 0o600)).toEqual([]);
});

test("what is older than the files that are kept goes, and nothing else; a line above the bound is written whole", () => {
  const file = join(temporaryFolder(), "ropewalk.log");
  const log = openLog(file);
  log.bound({ maxBytes: 4_096, keep: 2 });
  for (let n = 1; n <= 500; n += 1) log.info({ n }, "line");
  const found = numbersIn(file);
  expect(found).toEqual(counted(found[0] ?? 0, 500));
  expect(readdirSync(join(file, "..")).sort()).toEqual(["ropewalk.log", "ropewalk.log.1", "ropewalk.log.2"]);
  log.info({ n: 501, pad: "y".repeat(20_000) }, "long");
  log.info({ n: 502 }, "line");
  expect(numbersIn(file).slice(-2)).toEqual([501, 502]);
});

test("kill -9 in the middle of it loses no line that was written, and the next process neither", async () => {
  const file = join(temporaryFolder(), "ropewalk.log");
  let last = 0;
  for (let round = 0; round < 6; round += 1) {
    const child = spawn(process.execPath, [filler, file, "4096", "10000", "0"], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += String(chunk);
      if (said.length > 3_000 + round * 700) child.kill("SIGKILL");
    });
    await once(child, "close");
    last = Number(said.trim().split("\n").at(-1));
    // The next one ends what this one had begun.
    new RotatingFile(file).bound({ maxBytes: 4_096, keep: 10_000 });
    const found = numbersIn(file);
    const mine = found.slice(found.lastIndexOf(1));
    expect(mine.slice(0, last)).toEqual(counted(1, last));
    expect(mine.length).toBeLessThanOrEqual(last + 1);
  }
});

test("ended after its copy and before the file was emptied, a rotation leaves each line once, with what came after it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "grapheme-ascii", maxLength: 40 }), { minLength: 1, maxLength: 30 }),
      fc.boolean(),
      (texts, goesOn) => {
        const file = join(temporaryFolder(), "ropewalk.log");
        writeFileSync(file, texts.map((text) => `${JSON.stringify(text)}\n`).join(""));
        copyFileSync(file, `${file}.1`);
        if (goesOn) appendFileSync(file, "after\n");
        new RotatingFile(file).bound({ maxBytes: 1_000_000, keep: 3 });
        expect(readFileSync(file, "utf8")).toBe(goesOn ? "after\n" : "");
        expect(readFileSync(`${file}.1`, "utf8")).toBe(texts.map((text) => `${JSON.stringify(text)}\n`).join(""));
      },
    ),
    { numRuns: 50 },
  );
});

test("what the system writes to standard error at the end of a process lands in the log, also after a rotation", () => {
  const file = join(temporaryFolder(), "ropewalk.log");
  const fd = openSync(file, "a", 0o600);
  execFileSync(
    "sh",
    ["-c", '"$@"; echo "Aborted (as the system says it)" >&2', "sh", process.execPath, filler, file, "4096", "50", "200"],
    {
      stdio: ["ignore", "pipe", fd],
    },
  );
  expect(readFileSync(file, "utf8")).toMatch(/"n":200[^\n]*\nAborted \(as the system says it\)\n$/);
  expect(existsSync(`${file}.2`)).toBe(true);
});

test("a log that somebody empties or removes the old files of goes on", () => {
  const file = join(temporaryFolder(), "ropewalk.log");
  const log = openLog(file);
  log.bound({ maxBytes: 4_096, keep: 5 });
  for (let n = 1; n <= 30; n += 1) log.info({ n }, "line");
  truncateSync(file, 0);
  for (let n = 31; n <= 200; n += 1) log.info({ n }, "line");
  expect(numbersIn(file)).toEqual(counted(31, 200).slice(-numbersIn(file).length));
  expect(numbersIn(file).at(-1)).toBe(200);
});

test("an environment in the background keeps its log within what config.json says, and a second one adds nothing to it", async () => {
  const box = world(config({ logs: { maxBytes: 4_096, keep: 2 } }));
  const old = '{"msg":"of earlier days"}\n'.repeat(200);
  for (const name of ["ropewalk.log", "ropewalk.log.1", "ropewalk.log.2"]) box.put(name, `${old}${name}\n`);
  await box.run("up", "--detach");
  const files = readdirSync(box.dir).filter((name) => name.startsWith("ropewalk.log"));
  expect(files.sort()).toEqual(["ropewalk.log", "ropewalk.log.1", "ropewalk.log.2"]);
  expect(statSync(join(box.dir, "ropewalk.log")).size).toBeLessThanOrEqual(4_096);
  expect(readFileSync(join(box.dir, "ropewalk.log.1"), "utf8").startsWith(`${old}ropewalk.log\n`)).toBe(true);
  expect(readFileSync(join(box.dir, "ropewalk.log.2"), "utf8")).toBe(`${old}ropewalk.log.1\n`);
  const before = readFileSync(join(box.dir, "ropewalk.log"), "utf8");
  expect(await box.run("up", "--as-background")).toMatchObject({ code: 3 });
  expect(readFileSync(join(box.dir, "ropewalk.log"), "utf8")).toBe(before);
});

test("the log says who was let in, with what, and when that was taken back", async () => {
  const box = world();
  await box.run("up", "--detach");
  const { code, mcpUrl } = await box.json("client", "add", "--name", "tablet");
  await new OAuthProgram({ name: "Ferry" }).pair(mcpUrl, code);
  await box.json("client", "revoke", "tablet");
  const lines = () =>
    readFileSync(join(box.dir, "ropewalk.log"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  await until(() => lines().some((line) => line.msg === "program revoked"));
  const news = lines().filter((line) => line.msg.startsWith("program"));
  expect(news).toMatchObject([
    { msg: "program let in", name: "tablet", program: "Ferry", grant: { access: expect.any(Array), maxModes: expect.any(Object) } },
    { msg: "program revoked", name: "tablet", program: "Ferry", tokens: 1 },
  ]);
  expect(JSON.stringify(news)).not.toContain("rwc_");
});
