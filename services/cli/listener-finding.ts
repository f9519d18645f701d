import { readFileSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { EnvironmentConfig } from "../../schemas/config.ts";
import { EnvironmentUnreachable } from "../http/client/failures.ts";
import { connectLocal } from "../http/client.ts";
import { type Finding, fine, note, wrong } from "./finding.ts";
import { counted } from "./words.ts";

/** Where programs come in over the network, and who may. */
export async function listener(dir: string, config: EnvironmentConfig | null): Promise<Finding[]> {
  return [...certificates(dir, config), ...clientsFile(dir), ...(await listening(dir, config))];
}

async function listening(dir: string, config: EnvironmentConfig | null): Promise<Finding[]> {
  const client = connectLocal(dir);
  try {
    const { url, clients } = await client.clients();
    const who = `${counted(clients.length, "program")} let in`;
    if (url !== null) return [fine("network", `listens at ${url}; ${who}`)];
    return [
      clients.length === 0
        ? fine("network", "nothing listens there")
        : note(
            "network",
            `nothing listens there, although ${who}`,
            `Remove "http": null from config.json, or start it without --listen off.`,
          ),
    ];
  } catch (error) {
    if (!(error instanceof EnvironmentUnreachable)) throw error;
    return config?.http === null ? [fine("network", "nothing is to listen there (http is null)")] : [];
  } finally {
    client.close();
  }
}

function certificates(dir: string, config: EnvironmentConfig | null): Finding[] {
  const tls = config?.http?.tls;
  if (tls === undefined) return [];
  return Object.entries(tls).flatMap(([name, path]) => {
    const whole = isAbsolute(path) ? path : join(dir, path);
    try {
      readFileSync(whole);
      return [];
    } catch (error) {
      return [wrong("network", `http.tls.${name} cannot be read: ${(error as Error).message}`, "Correct it in config.json.")];
    }
  });
}

/** The file of programs that were let in: readable to its owner alone. */
function clientsFile(dir: string): Finding[] {
  const path = join(dir, "clients.json");
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  try {
    JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    return [
      wrong(
        "network",
        `${path} cannot be read: ${(error as Error).message}`,
        "Correct it, or move it away: every program is let in anew then.",
      ),
    ];
  }
  return (found.mode & 0o077) === 0 ? [] : [note("network", `others may read who is let in: ${path}`, `chmod 600 ${path}`)];
}
