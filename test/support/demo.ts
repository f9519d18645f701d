import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { DemoRecord } from "../../services/cli/demo/record.ts";

const project = fileURLToPath(new URL("../../", import.meta.url));

/** A run of the demo, with a folder for temporary files of its own, in which everything that it makes must be. */
export class Demo {
  readonly temporary: string;
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
  stdout = "";
  stderr = "";

  /** `from`: the project that is run; `env`: what is added to this process's environment, or with `bare` the whole of it. */
  constructor(args: string[], options: { from?: string; env?: NodeJS.ProcessEnv; bare?: boolean } = {}) {
    this.temporary = mkdtempSync(join(tmpdir(), "rw-e2e-"));
    const env = { ...(options.bare ? {} : process.env), TMPDIR: this.temporary, NO_COLOR: "1", ...options.env };
    this.child = spawn(process.execPath, [join(options.from ?? project, "bin", "ropewalk.js"), "demo", ...args], { env });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.ended = new Promise((resolve) => this.child.once("close", (code, signal) => resolve({ code, signal })));
    onTestFinished(async () => {
      this.child.kill("SIGKILL");
      for (const { pid } of this.processes()) process.kill(pid, "SIGKILL");
      rmSync(this.temporary, { recursive: true, force: true, maxRetries: 5 });
    });
  }

  get record(): DemoRecord {
    return JSON.parse(this.stdout) as DemoRecord;
  }

  step(id: string): DemoRecord["steps"][number] {
    const step = this.record.steps.find((s) => s.id === id);
    if (step === undefined) throw new Error(`no step ${id}`);
    return step;
  }

  /** Processes that work in its folder: the environments and the broker. The demo itself does not name it. */
  processes(): { pid: number; words: string }[] {
    return everyProcess().filter(({ words }) => words.includes(this.temporary));
  }

  /** Nothing of it is there any more. */
  leftovers(): unknown[] {
    return [...this.processes(), ...readdirSync(this.temporary)];
  }
}

function everyProcess(): { pid: number; words: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [{ pid: Number(name), words: readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ") }];
      } catch {
        return [];
      }
    });
}
