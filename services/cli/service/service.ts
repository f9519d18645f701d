import type { ServiceRecord } from "./record.ts";

/** What a service runs, and with what. */
export type Program = { record: ServiceRecord; arguments: readonly string[]; env: Readonly<Record<string, string>>; log: string };

export type ServiceState = {
  isRunning: boolean;
  /** Started by itself at a login. */
  isEnabled: boolean;
  pid: number | null;
  /** Milliseconds since 1970. */
  since: number | null;
  /** In the manager's own words. */
  detail: string;
};

/** One service of the system's manager of services. What it asks of the manager throws {@link ManagerFailure}. */
export interface ServiceManager {
  readonly kind: "systemd" | "launchd";
  /** As the manager calls the service. */
  readonly name: string;
  /** The one file that is ours. */
  readonly file: string;
  text(program: Program): string;
  /** Null when the manager can be asked; else why not. */
  unreachable(): Promise<string | null>;
  /** Takes a new or changed file note of; starts it (again) where `now`. */
  activate(now: boolean): Promise<void>;
  start(): Promise<void>;
  /** Stops it, and starts it at no login any more. */
  deactivate(): Promise<void>;
  /** After the file is gone. */
  forget(): Promise<void>;
  state(): Promise<ServiceState>;
  /** The same by hand. */
  readonly byHand: { activate: readonly string[]; deactivate: readonly string[] };
  /** What a person has to know of how long it runs; null: nothing. */
  lifetimeNote(): string | null;
}

/** The manager of services could not be asked, or refused. */
export class ManagerFailure extends Error {
  override readonly name = "ManagerFailure";
}
