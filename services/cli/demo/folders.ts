import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { v7 } from "uuid";
import type { EnvironmentConfig } from "../../../schemas/config.ts";
import type { EnvironmentId, LinkId } from "../../../schemas/ids.ts";
import type { LinkConfig } from "../../../schemas/link.ts";
import { defaultModes, type Modes } from "../../../schemas/modes.ts";
import { loadOrCreateKeys } from "../../links/keys.ts";
import type { SideName, Stage } from "./story/stage.ts";
import { script } from "./story/words.ts";

export type DemoProvider = "scripted" | "codex";
export type Folder = { name: SideName; dir: string; environmentId: EnvironmentId };
export type Wanted = {
  provider: DemoProvider;
  /** Another script for the scripted providers; null: the story's own. */
  script: unknown;
  /** Address of the NATS server; null: there is none. */
  broker: string | null;
};
export type Folders = { laptop: Folder; box: Folder | null; providers: Stage["providers"] };

/** A real agent is asked for words alone, and may do nothing without asking. */
const careful: Modes = { runtimeMode: "approval-required", interactionMode: "default" };

/**
 * Makes the environments' folders below `root`: linked with each other over the broker, the box letting the laptop import
 * and spawn; without a broker the laptop alone. Throws what keeps a folder from being made.
 */
export function prepareFolders(root: string, wanted: Wanted): Folders {
  const { provider, broker } = wanted;
  const [first, second] = provider === "scripted" ? ["amber", "birch"] : ["codex", "codex-2"];
  const providers = { first: first as string, second: second as string };
  const laptop = folder(root, "laptop");
  const box = broker === null ? null : folder(root, "box");
  const modes = provider === "scripted" ? defaultModes : careful;
  const common = { ...wanted, script: wanted.script ?? script, providers, modes };
  const linkId = `link:${v7()}` as LinkId;
  const link = (to: Folder, grants: LinkConfig["grants"]): LinkConfig[] => [
    { id: linkId, name: to.name, peer: { environmentId: to.environmentId, publicKey: publicKeyOf(to.dir) }, grants },
  ];
  configure(laptop, { ...common, links: box === null ? [] : link(box, []) });
  if (box !== null) {
    const grants: LinkConfig["grants"] = [
      { kind: "threadImport", maxModes: modes },
      { kind: "spawn", maxModes: modes },
    ];
    configure(box, { ...common, links: link(laptop, grants) });
  }
  return { laptop, box, providers };
}

function folder(root: string, name: SideName): Folder {
  const dir = join(root, name);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return { name, dir, environmentId: `env:${v7()}` as EnvironmentId };
}

function publicKeyOf(dir: string): string {
  const result = loadOrCreateKeys(dir);
  if (!result.ok) throw new Error(`${result.failure.message} (${result.failure.path})`);
  return result.keys.publicKey;
}

type Settings = Wanted & { providers: Stage["providers"]; modes: Modes; links: LinkConfig[] };

function configure({ name, dir, environmentId }: Folder, { providers, provider, script, broker, modes, links }: Settings): void {
  const instance = provider === "scripted" ? ({ kind: "scripted", script: "script.json" } as const) : ({ kind: "codex" } as const);
  const config: EnvironmentConfig = {
    environment: { id: environmentId, name },
    providers: { [providers.first]: instance, [providers.second]: instance },
    defaultProvider: providers.first,
    nats: broker === null ? null : { url: broker },
    links,
    limits: {},
    defaultModes: modes,
  };
  if (provider === "scripted") writeFileSync(join(dir, "script.json"), JSON.stringify(script, null, 2));
  writeFileSync(join(dir, "config.json"), JSON.stringify(config, null, 2), { mode: 0o600 });
}
