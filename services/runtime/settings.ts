import type { EnvironmentConfig } from "../../schemas/config.ts";
import type { EnvironmentId, LinkId, ProjectId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { LinkConfig } from "../../schemas/link.ts";
import { defaultModes, type Modes } from "../../schemas/modes.ts";
import type { ProviderChoice } from "../../schemas/provider.ts";

/** What the configuration says, in the form that plans ask for it. */
export class Settings {
  #config: EnvironmentConfig;
  /** Instances that can serve: the configured ones, and adapters that a program brought along. */
  readonly providerNames: readonly string[];

  constructor(config: EnvironmentConfig, providerNames: readonly string[] = Object.keys(config.providers)) {
    this.#config = config;
    this.providerNames = providerNames;
  }

  get config(): EnvironmentConfig {
    return this.#config;
  }

  /** What a person changes while it runs: links and the server that they talk over. Plans go by it from their next look on. */
  relink(change: Partial<Pick<EnvironmentConfig, "links" | "nats">>): void {
    this.#config = { ...this.#config, ...change };
  }

  get environmentId(): EnvironmentId {
    return this.config.environment.id;
  }

  get modes(): Modes {
    return this.config.defaultModes ?? defaultModes;
  }

  get taskDepth(): number {
    return this.config.limits.taskDepth ?? limits.taskDepth;
  }

  get taskOpenChildren(): number {
    return this.config.limits.taskOpenChildren ?? limits.taskOpenChildren;
  }

  /** Size of one import request, as canonical JSON in UTF-8. */
  get importRequestBytes(): number {
    return this.config.limits.importRequestBytes ?? limits.importRequestBytes;
  }

  /** Requests that may wait in one link's outbox; answers and results are never refused. */
  get linkBacklog(): number {
    return this.config.limits.linkBacklog ?? 10_000;
  }

  hasProvider(instance: string): boolean {
    return this.providerNames.includes(instance);
  }

  /** Who serves a message when nobody has said it: the configured default, else the only instance there is. */
  defaultProvider(): ProviderChoice | null {
    const names = this.providerNames;
    const instance = this.config.defaultProvider ?? (names.length === 1 ? names[0] : undefined);
    return instance === undefined ? null : { instance, model: this.config.providers[instance]?.defaultModel ?? null };
  }

  link(id: LinkId): LinkConfig | null {
    return this.config.links.find((l) => l.id === id) ?? null;
  }

  linkTo(environmentId: EnvironmentId): LinkConfig | null {
    return this.config.links.find((l) => l.peer.environmentId === environmentId) ?? null;
  }
}

/** Where threads live that belong to no project of a person: a folder of the environment's own. */
export type Scratch = { projectId: ProjectId; path: string };
