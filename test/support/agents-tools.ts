import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { OpenSession } from "../../services/providers/contract.ts";
import { startEnvironment, temporaryFolder } from "./environments.ts";
import { wrappedAdapter } from "./wrapped-adapter.ts";

/** An environment whose provider takes tools, and what each of its sessions was opened with. */
export async function withTools(appTools: "mcp-http" | "none" = "mcp-http") {
  const dir = temporaryFolder();
  const opened: OpenSession[] = [];
  let isRefusing = false;
  const stateDir = join(dir, "providers", "p1");
  mkdirSync(stateDir, { recursive: true });
  const script = { capabilities: { appTools }, rules: [{ match: { contains: "hang" }, steps: [{ hang: true }] }] };
  const { adapter } = wrappedAdapter(
    { instance: "p1", config: { kind: "scripted", script: "p1.json" }, stateDir, baseDir: dir },
    (inner) => ({
      async open(request, signal) {
        opened.push(request);
        if (isRefusing) throw new Error("no");
        return inner.open(request, signal);
      },
    }),
  );
  const env = await startEnvironment({ dir, scripts: { p1: script, p2: null }, adapters: { p1: adapter } });
  const token = () => opened.at(-1)?.appTools?.token ?? "none";
  const refuse = () => {
    isRefusing = true;
  };
  return { env, opened, token, refuse };
}
