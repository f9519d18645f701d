import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { EnvironmentConfig } from "../../schemas/config.ts";
import type { RunId, ThreadId } from "../../schemas/ids.ts";
import type { Run } from "../../schemas/run.ts";
import { createEnvironment, type EnvironmentOptions } from "../../services/environment.ts";
import type { InputRecord } from "../../services/providers/scripted/inputs.ts";
import type { Environment } from "../../services/runtime/environment-api.ts";
import { systemIdentifiers } from "../../services/runtime/system-identifiers.ts";

/** A folder that is gone when the test is over. */
export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "ropewalk-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export type TestEnvironment = Environment & {
  /** Ends it as a crash would be found: nothing is closed politely. Then starts another on the same folder. */
  restart(): Promise<TestEnvironment>;
  /** Everything that an instance of the scripted provider was given, in order. */
  inputs(instance?: string): InputRecord[];
  /** Sends, and waits for the run's end. */
  say(threadId: ThreadId, text: string, more?: Record<string, unknown>): Promise<Run>;
  ended(runId: RunId): Promise<Run>;
  newThread(more?: Record<string, unknown>): Promise<ThreadId>;
};

export type TestOptions = Partial<EnvironmentOptions> & {
  /** One scripted instance per name, each with its script; default: `p1` and `p2` with the default script. */
  scripts?: Record<string, unknown>;
  name?: string;
};

/** A real environment in a temporary folder, with scripted providers. Closed when the test is over. */
export async function startEnvironment(options: TestOptions = {}): Promise<TestEnvironment> {
  const { scripts = { p1: null, p2: null }, name = "test", ...given } = options;
  const dir = given.dir ?? temporaryFolder();
  const providers: EnvironmentConfig["providers"] = {};
  for (const [instance, script] of Object.entries(scripts)) {
    if (script !== null) writeFileSync(join(dir, `${instance}.json`), JSON.stringify(script));
    providers[instance] = {
      kind: "scripted",
      ...(script === null ? {} : { script: `${instance}.json` }),
      ...(given.config?.providers?.[instance] as object),
    };
  }
  const config: EnvironmentConfig = {
    environment: { id: systemIdentifiers.next("env"), name },
    defaultProvider: Object.keys(scripts)[0] ?? null,
    nats: null,
    links: [],
    limits: {},
    ...given.config,
    providers: { ...given.config?.providers, ...providers },
  };
  writeFileSync(join(dir, "config.json"), JSON.stringify(config, null, 2));
  return wrap(await createEnvironment({ ...given, dir, config: {} }), { ...given, dir, config: {} });
}

function wrap(environment: Environment, options: EnvironmentOptions): TestEnvironment {
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await environment.close();
  };
  onTestFinished(close);
  const helpers = {
    close,
    async restart() {
      await close();
      return wrap(await createEnvironment(options), options);
    },
    inputs(instance = "p1") {
      try {
        return readFileSync(join(options.dir, "providers", instance, "inputs.jsonl"), "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as InputRecord);
      } catch {
        return [];
      }
    },
    async say(threadId: ThreadId, text: string, more: Record<string, unknown> = {}) {
      const { runId } = await environment.send({ type: "thread.send", threadId, text, ...more });
      return helpers.ended(runId);
    },
    async ended(runId: RunId) {
      const run = await environment.runs.wait(runId, { timeoutMs: 20_000 });
      if (run === null || run.endedAt === null) throw new Error(`${runId} did not end: ${run?.status}`);
      return run;
    },
    async newThread(more: Record<string, unknown> = {}) {
      return (await environment.send({ type: "thread.create", ...more })).threadId;
    },
  };
  return Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(environment), ...Object.getOwnPropertyDescriptors(helpers) },
  ) as TestEnvironment;
}

/** Waits for a condition, looking again every few milliseconds. */
export async function until<T>(look: () => T | null | undefined | false, what = "the condition", timeoutMs = 15_000): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const found = look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
