import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { measureIn } from "../../../services/context/measure.ts";
import { createTokenCounter, type TokenCounterOptions } from "../../../services/context/tokens.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function counter(options?: TokenCounterOptions) {
  const made = createTokenCounter(options);
  cleanups.push(() => made.close());
  return made;
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "tokens-"));
  cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const source = (name: string) => fileURLToPath(new URL(`../../../services/context/${name}`, import.meta.url));
const run = promisify(execFile);

/** A worker that writes a line for each time it starts, then does as `body` says. */
function worker(body: string) {
  const dir = folder();
  const log = join(dir, "starts");
  writeFileSync(log, "");
  const file = join(dir, "worker.mjs");
  writeFileSync(
    file,
    `import { parentPort } from "node:worker_threads";
     import { appendFileSync, readFileSync } from "node:fs";
     appendFileSync(${JSON.stringify(log)}, "started\\n");
     const starts = readFileSync(${JSON.stringify(log)}, "utf8").split("\\n").length - 1;
     parentPort.on("message", ({ id, texts }) => { ${body} });`,
  );
  return { workerUrl: pathToFileURL(file), starts: () => readFileSync(log, "utf8").split("\n").length - 1 };
}
const answer = "parentPort.postMessage({ id, counts: texts.map(() => starts) });";

test("tokens are counted as o200k counts them, text by text", async () => {
  expect(await counter().count(["hello world", "", "hello world hello world"])).toEqual([2, 0, 4]);
});

test("what looks like a special token is counted as the text that it is", async () => {
  const [count] = await counter().count(["<|endoftext|>"]);
  expect(count).toBeGreaterThan(1);
});

test("a megabyte without a space is counted in bounded time", { timeout: 20_000 }, async () => {
  const counts = await counter().count([..."a- 漢"].map((char) => char.repeat(1_000_000)));
  for (const count of counts) expect(count).toBeGreaterThan(1_000);
});

test("a text never has more tokens than the bound that is known without counting", async () => {
  const made = counter();
  const measure = measureIn("tokens", made);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: "binary", maxLength: 200 }), { maxLength: 5 }), async (texts) => {
      const counts = await made.count(texts);
      texts.forEach((text, index) => {
        expect(counts[index]).toBeLessThanOrEqual(measure.atMost(text));
      });
    }),
  );
});

test("the worker is started by the first count and serves the ones after it", async () => {
  const { workerUrl, starts } = worker(answer);
  const made = counter({ workerUrl });
  expect(await made.count([])).toEqual([]);
  expect(starts()).toBe(0);
  expect(await Promise.all([made.count(["a"]), made.count(["b", "c"])])).toEqual([[1], [1, 1]]);
  expect(starts()).toBe(1);
});

test("a worker that dies under a count is started anew, and the count is made all the same", async () => {
  const { workerUrl, starts } = worker(`if (starts === 1) process.exit(3); ${answer}`);
  expect(await counter({ workerUrl }).count(["a"])).toEqual([2]);
  expect(starts()).toBe(2);
});

test("a worker that always dies is a failure of the count, not a loop", async () => {
  const { workerUrl, starts } = worker("process.exit(3);");
  const made = counter({ workerUrl });
  await expect(made.count(["a"])).rejects.toThrow("worker");
  expect(starts()).toBe(2);
});

test("an idle worker ends by itself, and a later count starts another", async () => {
  const { workerUrl, starts } = worker(answer);
  const made = counter({ workerUrl, idleMs: 1 });
  await made.count(["a"]);
  await expect.poll(() => made.count(["a"])).toEqual([2]);
  expect(starts()).toBe(2);
});

test("closing rejects what still waits", async () => {
  const { workerUrl } = worker("");
  const made = createTokenCounter({ workerUrl });
  const waiting = made.count(["a"]);
  const closed = made.close();
  await expect(waiting).rejects.toThrow("closed");
  await closed;
});

test("a counter that nobody closed does not keep its process alive", async () => {
  const script = `import { createTokenCounter } from ${JSON.stringify(pathToFileURL(source("tokens.ts")).href)};
    console.log(await createTokenCounter().count(["hello world"]));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { timeout: 20_000 });
  expect(stdout.trim()).toBe("[ 2 ]");
});

test("the built package, where the files are .js, counts the same", async () => {
  const dir = realpathSync(folder());
  mkdirSync(join(dir, "dist"));
  for (const name of ["tokens", "token-worker"]) {
    const text = stripTypeScriptTypes(readFileSync(source(`${name}.ts`), "utf8"));
    writeFileSync(join(dir, "dist", `${name}.js`), text);
  }
  writeFileSync(join(dir, "package.json"), '{"type":"module"}');
  symlinkSync(join(fileURLToPath(new URL("../../../", import.meta.url)), "node_modules"), join(dir, "node_modules"));
  const script = `import { createTokenCounter } from ${JSON.stringify(pathToFileURL(join(dir, "dist", "tokens.js")).href)};
    console.log(await createTokenCounter().count(["hello world"]));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { timeout: 20_000 });
  expect(stdout.trim()).toBe("[ 2 ]");
});
