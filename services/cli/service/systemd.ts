import { existsSync, lstatSync, readlinkSync, rmSync } from "node:fs";
import { userInfo } from "node:os";
import { basename, join } from "node:path";
import { ask } from "./ask.ts";
import type { ServiceManager, ServiceState } from "./service.ts";
import { systemdUnit } from "./systemd-unit.ts";

const askMs = 10_000;

/** The user's own systemd. `units` is the folder of a user's unit files. */
export function systemd(name: string, units: string): ServiceManager {
  const unit = `${name}.service`;
  const file = join(units, unit);
  const systemctl = (...args: string[]) => ask("systemctl", ["--user", ...args]);
  return {
    kind: "systemd",
    name: unit,
    file,
    text: systemdUnit,
    async unreachable() {
      try {
        await ask("systemctl", ["--user", "show", "--property=Version"], askMs);
        return null;
      } catch (error) {
        return (error as Error).message;
      }
    },
    async activate(now) {
      await systemctl("daemon-reload");
      await systemctl("enable", unit);
      if (!now) return;
      await systemctl("reset-failed", unit).catch(() => undefined);
      await systemctl("restart", unit);
    },
    async start() {
      await systemctl("reset-failed", unit).catch(() => undefined);
      await systemctl("start", unit);
    },
    deactivate: async () => void (await systemctl("disable", "--now", unit)),
    async forget() {
      // What `disable` would have removed, had it been asked.
      const wanted = join(units, "default.target.wants", unit);
      if (lstatSync(wanted, { throwIfNoEntry: false })?.isSymbolicLink() && basename(readlinkSync(wanted)) === unit) rmSync(wanted);
      await systemctl("daemon-reload");
      await systemctl("reset-failed", unit).catch(() => undefined);
    },
    state: async () => stateOf(await systemctl("show", unit, `--property=${properties.join(",")}`)),
    byHand: {
      activate: ["systemctl --user daemon-reload", `systemctl --user enable --now ${unit}`],
      deactivate: [`systemctl --user disable --now ${unit}`],
    },
    lifetimeNote() {
      const { username } = userInfo();
      if (existsSync(join("/var/lib/systemd/linger", username))) return null;
      return `It ends when you log out, and starts when you log in. To keep it running without a login: loginctl enable-linger ${username}`;
    },
  };
}

const properties = ["ActiveState", "SubState", "Result", "MainPID", "UnitFileState", "ActiveEnterTimestampMonotonic", "NRestarts"];

function stateOf(shown: string): ServiceState {
  const told = new Map(shown.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
  const active = told.get("ActiveState") ?? "unknown";
  const isRunning = ["active", "activating", "deactivating", "reloading"].includes(active);
  const entered = Number(told.get("ActiveEnterTimestampMonotonic") ?? 0) / 1_000;
  const restarts = Number(told.get("NRestarts") ?? 0);
  const result = told.get("Result") ?? "success";
  return {
    isRunning,
    isEnabled: (told.get("UnitFileState") ?? "").startsWith("enabled"),
    pid: Number(told.get("MainPID") ?? 0) || null,
    since: active === "active" && entered > 0 ? Math.round(Date.now() - (Number(process.hrtime.bigint() / 1_000_000n) - entered)) : null,
    detail: [
      `${active} (${told.get("SubState") ?? "unknown"})`,
      ...(result === "success" ? [] : [result]),
      ...(restarts > 0 ? [`started again ${restarts} times`] : []),
    ].join(", "),
  };
}

/** Where a user's unit files are. */
export function userUnits(env: NodeJS.ProcessEnv, home: string): string {
  const config = env.XDG_CONFIG_HOME;
  return join(config?.startsWith("/") ? config : join(home, ".config"), "systemd", "user");
}
