import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { temporaryFolder } from "./environments.ts";
import { mcpTool } from "./mcp-tools.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the inspector prints has no type here, and is held against one by each test.
type Printed = any;

/** What one call of the inspector came to; `result` is what it printed as JSON, null where it printed none. */
export type Inspected = { code: number | null; result: Printed; stderr: string };

export type InspectOptions = {
  /** Called with the address of the page that it would have a person open; what it returns is sent to its callback. */
  onPage?: (page: URL) => Promise<URL>;
  env?: Record<string, string>;
};

/** The official inspector's command line, with a home of its own in which it keeps what it was given. */
export class Inspector {
  readonly #home = temporaryFolder();

  /** A tool over HTTP or standard input and output; `target` are the flags that say where. */
  call(target: string[], tool: string, args: object, options: InspectOptions = {}): Promise<Inspected> {
    return this.run([...target, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(args)], options);
  }

  async run(args: string[], { onPage, env = {} }: InspectOptions = {}): Promise<Inspected> {
    // What starts a program as server stands at the end, behind `--`.
    const at = args.indexOf("--");
    const flags = at < 0 ? args : args.slice(0, at);
    const server = at < 0 ? [] : args.slice(at);
    const child = spawn(process.execPath, [await mcpTool("inspector"), "--cli", ...flags, "--format", "json", ...server], {
      cwd: this.#home,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: this.#home,
        // In a file of its own home: there is no keychain here.
        MCP_INSPECTOR_SECRET_STORE: "file",
        // Nobody sits here; the test opens what it prints, in the place of a browser that it would start.
        BROWSER: "true",
        ...(onPage !== undefined && { MCP_AUTO_OPEN_ENABLED: "true" }),
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const tooLong = setTimeout(() => child.kill("SIGKILL"), 60_000);
    let stdout = "";
    let stderr = "";
    let failed: unknown = null;
    child.stdout.on("data", (chunk) => (stdout += String(chunk)));
    createInterface(child.stderr).on("line", (line) => {
      stderr += `${line}\n`;
      const page = /Please navigate to: (\S+)/.exec(line)?.[1];
      if (page === undefined || onPage === undefined) return;
      onPage(new URL(page))
        .then((back) => fetch(back))
        .catch((error) => {
          failed = error;
          child.kill("SIGKILL");
        });
    });
    const [code] = await once(child, "close");
    clearTimeout(tooLong);
    if (failed !== null) throw failed;
    return { code, result: stdout.trim() === "" ? null : JSON.parse(stdout).result, stderr };
  }
}
