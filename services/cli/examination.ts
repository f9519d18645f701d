import { accessSync, constants, readFileSync, statfsSync, statSync } from "node:fs";
import { connect } from "node:net";
import { platform, release } from "node:os";
import { join } from "node:path";
import { EnvironmentConfig } from "../../schemas/config.ts";
import type { WorkspacesAnswer } from "../http/client/answers.ts";
import { EnvironmentUnreachable } from "../http/client/failures.ts";
import { connectLocal } from "../http/client.ts";
import { packageVersion } from "../runtime/version.ts";
import { type Finding, fine, note, wrong } from "./finding.ts";
import { listener } from "./listener-finding.ts";
import { serviceFindings } from "./service/finding.ts";
import { counted, sizeWords } from "./words.ts";

const lowSpace = 256 * 1024 * 1024;
const brokerMs = 2_000;

/** Looks at everything that an environment rests on. Reads only, and never for longer than a few seconds. */
export async function examine(dir: string): Promise<Finding[]> {
  const config = readConfig(dir);
  return [
    fine("program", `ropewalk ${packageVersion()}, Node ${process.version}, ${platform()} ${release()}`),
    ...folder(dir),
    config.finding,
    ...(config.value === null ? [] : [...providers(config.value), await broker(config.value)]),
    ...(await listener(dir, config.value)),
    ...(await running(dir)),
    ...(await serviceFindings(dir)),
  ];
}

function folder(dir: string): Finding[] {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found === undefined)
    return [note("folder", `${dir} is not there yet`, "It is made by the first command that needs it, or by: ropewalk up")];
  if (!found.isDirectory()) return [wrong("folder", `${dir} is no folder`, "Choose another with --dir.")];
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return [wrong("folder", `${dir} cannot be written`, "Check its owner and rights.")];
  }
  const { bavail, bsize } = statfsSync(dir);
  const free = bavail * bsize;
  const store = statSync(join(dir, "ropewalk.db"), { throwIfNoEntry: false })?.size ?? 0;
  const text = `${dir}, store ${sizeWords(store)}, ${sizeWords(free)} free`;
  const findings = [
    free < lowSpace ? note("folder", text, "Free some space: nothing can be stored on a full disk.") : fine("folder", text),
  ];
  if ((found.mode & 0o077) !== 0 && process.getuid !== undefined)
    findings.push(note("folder", "others can look into it", `chmod 700 ${dir}`));
  return findings;
}

function readConfig(dir: string): { value: EnvironmentConfig | null; finding: Finding } {
  const path = join(dir, "config.json");
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { value: null, finding: note("config", "there is none yet", null) };
    return { value: null, finding: wrong("config", `${path} cannot be read: ${(error as Error).message}`, "Check its owner and rights.") };
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return {
      value: null,
      finding: wrong("config", `${path} is not JSON: ${(error as Error).message}`, "Correct it, or move it away to have a fresh one made."),
    };
  }
  const parsed = EnvironmentConfig.safeParse(json);
  if (parsed.success) return { value: parsed.data, finding: fine("config", `${path}: ${parsed.data.environment.name}`) };
  const told = parsed.error.issues.slice(0, 5).map((issue) => `${issue.path.join(".") || "it"}: ${issue.message}`);
  return { value: null, finding: wrong("config", `${path}: ${told.join("; ")}`, "Correct the named members.") };
}

function providers({ providers, defaultProvider }: EnvironmentConfig): Finding[] {
  const names = Object.entries(providers).map(([name, { kind }]) => (name === kind ? name : `${name} (${kind})`));
  if (names.length === 0) return [wrong("providers", "no agent is configured", "Name one under providers in config.json.")];
  const known = defaultProvider === null || Object.hasOwn(providers, defaultProvider);
  return [
    known
      ? fine("providers", names.join(", "))
      : wrong("providers", `defaultProvider is ${defaultProvider}, which is not configured`, `Configured are: ${names.join(", ")}.`),
  ];
}

async function broker({ nats, links }: EnvironmentConfig): Promise<Finding> {
  if (nats === null)
    return links.length === 0
      ? fine("links", "none, so no NATS server is needed")
      : wrong("links", "links are configured, but no NATS server", "Name one under nats in config.json.");
  const reached = await reachable(nats.url);
  if (reached === null) return fine("links", `${counted(links.length, "link")}, NATS answers at ${nats.url}`);
  return note(
    "links",
    `NATS does not answer at ${nats.url} (${reached})`,
    "What is for other environments waits here until it does; everything else works.",
  );
}

/** Null when something listens at a NATS address; else why not. */
function reachable(address: string): Promise<string | null> {
  let url: URL;
  try {
    url = new URL(address.includes("://") ? address : `nats://${address}`);
  } catch {
    return Promise.resolve("not an address");
  }
  return new Promise((resolve) => {
    const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port) || 4222, timeout: brokerMs });
    const say = (answer: string | null) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => say(null));
    socket.once("timeout", () => say(`no answer within ${brokerMs / 1000} s`));
    socket.once("error", (error: NodeJS.ErrnoException) => say(error.code ?? error.message));
  });
}

function workspaceFindings({ worktrees, checkpoints, repositories, findings }: WorkspacesAnswer["workspaces"]): Finding[] {
  const bytes = worktrees.reduce((sum, worktree) => sum + worktree.bytes, 0);
  const refs = `${counted(checkpoints, "checkpoint")} kept in ${repositories} ${repositories === 1 ? "repository" : "repositories"}`;
  const text = `${counted(worktrees.length, "worktree")}, ${sizeWords(bytes)}; ${refs}`;
  return [
    fine("worktrees", findings.length === 0 ? `${text}; all as they should be` : text),
    ...findings.map(({ state, text: what, hint }): Finding => ({ about: "worktrees", state, text: what, hint })),
  ];
}

async function running(dir: string): Promise<Finding[]> {
  const client = connectLocal(dir);
  try {
    const [{ environment }, { health }, { links }, { workspaces }] = await Promise.all([
      client.environment(5_000),
      client.health(),
      client.links(),
      client.workspaces(),
    ]);
    return [
      fine("running", `pid ${environment.pid}, Node ${environment.node}, ${counted(health.commits, "commit")}`),
      ...workspaceFindings(workspaces),
      ...health.setAside.map((s) => wrong("record", `${s.id} was set aside: ${s.reason}`, "The rest goes on without it; report it.")),
      ...health.effectsSetAside.map((e) => note("effect", `${e.kind} ${e.id} was given up: ${e.note}`, null)),
      ...links
        .filter((l) => l.status === "diverged")
        .map((l) => wrong("link", `${l.name}: the two sides disagree: ${l.divergence?.reason ?? ""}`, `See: ropewalk link show ${l.name}`)),
    ];
  } catch (error) {
    if (error instanceof EnvironmentUnreachable) return [note("running", error.message, null)];
    throw error;
  } finally {
    client.close();
  }
}
