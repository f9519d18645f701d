import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { temporaryFolder } from "./environments.ts";
import { mcpTool } from "./mcp-tools.ts";

type Check = { id: string; status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED"; errorMessage?: string };

/** What became of one scenario: the checks that failed, and those that the suite only warns of. */
export type Outcome = { scenario: string; failed: string[]; warned: string[]; said: string };

/** Runs every server scenario of the public conformance suite against a server. Its processes get nothing of ours. */
export async function runConformance(url: string): Promise<Outcome[]> {
  const dir = temporaryFolder();
  const args = [await mcpTool("conformance"), "server", "--url", url, "--suite", "all", "--output-dir", dir];
  const env = { PATH: process.env.PATH ?? "", HOME: dir };
  // It ends with 1 where a scenario failed; what it wrote down says which.
  const ended = await promisify(execFile)(process.execPath, args, { env, cwd: dir, timeout: 240_000, maxBuffer: 64 * 1024 * 1024 }).catch(
    (error) => error,
  );
  if (typeof ended.code === "string" || ended.killed === true) throw ended;
  return readdirSync(dir).flatMap((name) => {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name)?.[1];
    if (scenario === undefined) return [];
    const checks: Check[] = JSON.parse(readFileSync(join(dir, name, "checks.json"), "utf8"));
    const ids = (status: Check["status"]) => checks.filter((check) => check.status === status).map((check) => check.id);
    const said = checks.flatMap((check) => (check.errorMessage === undefined ? [] : [`${check.id}: ${check.errorMessage}`])).join("\n");
    return [{ scenario, failed: ids("FAILURE"), warned: ids("WARNING"), said }];
  });
}

/** The names of all server scenarios that the suite has. */
export async function conformanceScenarios(): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [await mcpTool("conformance"), "list", "--server"]);
  return [...stdout.matchAll(/^ {2}- (\S+)/gm)].map((match) => match[1] ?? "");
}
