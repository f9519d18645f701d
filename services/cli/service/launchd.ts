import { join } from "node:path";
import { ask } from "./ask.ts";
import { launchAgent } from "./launch-agent.ts";
import type { ServiceManager, ServiceState } from "./service.ts";

const askMs = 10_000;

/** launchd, for the session of a user who is logged in. `agents` is the folder of the user's agents. */
export function launchd(label: string, agents: string, uid: number): ServiceManager {
  const file = join(agents, `${label}.plist`);
  const domain = `gui/${uid}`;
  const target = `${domain}/${label}`;
  const launchctl = (...args: string[]) => ask("launchctl", args);
  const isLoaded = () =>
    launchctl("print", target).then(
      () => true,
      () => false,
    );
  return {
    kind: "launchd",
    name: label,
    file,
    text: (program) => launchAgent(label, program),
    async unreachable() {
      try {
        await ask("launchctl", ["print", domain], askMs);
        return null;
      } catch (error) {
        return (error as Error).message;
      }
    },
    async activate(now) {
      await launchctl("enable", target);
      // A changed file is read by loading it anew; loading starts it.
      if (!now) return;
      if (await isLoaded()) await launchctl("bootout", target);
      await launchctl("bootstrap", domain, file);
    },
    async start() {
      if (await isLoaded()) await launchctl("kickstart", target);
      else await launchctl("bootstrap", domain, file);
    },
    async deactivate() {
      if (await isLoaded()) await launchctl("bootout", target);
    },
    forget: async () => {},
    async state() {
      const [shown, disabled] = await Promise.all([
        launchctl("print", target).catch(() => ""),
        launchctl("print-disabled", domain).catch(() => ""),
      ]);
      return stateOf(shown, disabled.includes(`"${label}" => disabled`) || disabled.includes(`"${label}" => true`));
    },
    byHand: {
      activate: [`launchctl bootstrap ${domain} "${file}"`],
      deactivate: [`launchctl bootout ${target}`],
    },
    lifetimeNote: () => "It ends when you log out, and starts when you log in.",
  };
}

function stateOf(shown: string, isDisabled: boolean): ServiceState {
  const told = (name: string) => new RegExp(`^\\s*${name} = (.+)$`, "m").exec(shown)?.[1];
  const pid = Number(told("pid") ?? 0) || null;
  const exit = told("last exit code");
  const state = told("state") ?? "not loaded";
  return {
    isRunning: pid !== null,
    isEnabled: !isDisabled,
    pid,
    // launchd does not tell.
    since: null,
    detail: exit === undefined || exit.startsWith("(never") ? state : `${state}, last exit code ${exit}`,
  };
}
