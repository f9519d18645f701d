import { readFileSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { EnvironmentConfig } from "../../schemas/config.ts";
import { type Refusal, type RefusalCode, refusal } from "../../schemas/refusal.ts";
import { CommandRefused } from "./environment-api.ts";
import { systemIdentifiers } from "./system-identifiers.ts";
import { writeWhole } from "./whole-file.ts";

export type ConfigResult = { ok: true; config: EnvironmentConfig; created: boolean } | { ok: false; refusal: Refusal };

/**
 * `config.json` of a folder; made with the environment when there is none. Every member is checked, none is guessed, and
 * whatever is wrong is an answer that names the file and the member.
 */
export function loadOrCreateConfig(dir: string): ConfigResult {
  const path = join(dir, "config.json");
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      return refused("config_unreadable", `${path} cannot be read: ${why(error)}`, "Check its owner and rights.");
    return createConfig(dir, path);
  }
  let parsed: unknown;
  try {
    // Some editors put a byte order mark in front.
    parsed = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    return refused("config_unreadable", `${path} is not JSON: ${why(error)}`, "Correct it, or move it away to have a fresh one made.");
  }
  const checked = EnvironmentConfig.safeParse(parsed);
  const issues = checked.success
    ? repeatedLinks(checked.data)
    : checked.error.issues.slice(0, 5).map((i) => `${i.path.map(String).join(".") || "(top)"}: ${i.message}`);
  if (checked.success && issues.length === 0) return { ok: true, config: checked.data, created: false };
  return refused("config_invalid", `${path}: ${issues.join("; ")}`, "Correct the named members; see the configuration page of the guide.");
}

function createConfig(dir: string, path: string): ConfigResult {
  const config = freshConfig();
  try {
    writeConfig(dir, config);
  } catch (error) {
    return refused(
      "config_unwritable",
      `${path} cannot be made: ${why(error)}`,
      "Check the folder's owner and rights, and its free space.",
      "orchestration_error",
    );
  }
  return { ok: true, config, created: true };
}

/** Two links of one id, or to one peer, would take each other's messages. */
function repeatedLinks({ links }: EnvironmentConfig): string[] {
  return links.flatMap((link, i) => {
    const before = links.slice(0, i);
    if (before.some((l) => l.id === link.id)) return [`links.${i}.id: ${link.id} is there twice`];
    return before.some((l) => l.peer.environmentId === link.peer.environmentId)
      ? [`links.${i}.peer: a link to ${link.peer.environmentId} is there already`]
      : [];
  });
}

/** Written whole or not at all. A link to a file elsewhere stays a link, and that file is written. */
export function writeConfig(dir: string, config: EnvironmentConfig): void {
  writeWhole(realPath(join(dir, "config.json")), `${JSON.stringify(config, null, 2)}\n`);
}

/** Changes the file as it is now, so that what a person wrote into it meanwhile stays. Throws CommandRefused for one that cannot be used. */
export function changeConfig(dir: string, change: (config: EnvironmentConfig) => EnvironmentConfig): void {
  const loaded = loadOrCreateConfig(dir);
  if (!loaded.ok) throw new CommandRefused(loaded.refusal);
  const changed = change(loaded.config);
  const [issue] = repeatedLinks(changed);
  if (issue !== undefined)
    throw new CommandRefused(
      refusal("invalid_request", "config_invalid", `config.json would have ${issue}`, "Restart, or correct it first."),
    );
  try {
    writeConfig(dir, changed);
  } catch (error) {
    throw new CommandRefused(
      refusal(
        "orchestration_error",
        "config_unwritable",
        `config.json cannot be written: ${why(error)}`,
        "Check its rights and free space.",
      ),
    );
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

const why = (error: unknown) => (error instanceof Error ? error.message : String(error));
const refused = (reason: string, message: string, hint: string, code: RefusalCode = "invalid_request"): ConfigResult => ({
  ok: false,
  refusal: refusal(code, reason, message, hint),
});

/** An environment of this machine, with the agents that most people have, and no links. */
export function freshConfig(): EnvironmentConfig {
  return {
    environment: { id: systemIdentifiers.next("env"), name: hostname() || "environment" },
    providers: { codex: { kind: "codex" }, claude: { kind: "claude" } },
    defaultProvider: "codex",
    nats: null,
    links: [],
    limits: {},
  };
}
