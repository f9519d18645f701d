import { Command } from "commander";
import { EnvironmentUnreachable } from "../../http/client/failures.ts";
import { connectLocal, type LocalClient } from "../../http/client.ts";
import { exitCode } from "../exit-codes.ts";
import { retentionWords } from "../retention-words.ts";
import { offline } from "../session.ts";
import type { Shell } from "../shell.ts";
import { facts } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { counted, linkWords } from "../words.ts";

export function statusCommand(): Command {
  return new Command("status").description("whether an environment runs here, and how it is").action(
    offline(async (shell) => {
      const client = connectLocal(shell.dir);
      try {
        await report(shell, client);
        return exitCode.ok;
      } catch (error) {
        if (!(error instanceof EnvironmentUnreachable)) throw error;
        if (shell.json) process.stdout.write(`${JSON.stringify({ ok: false, running: false, dir: shell.dir })}\n`);
        else shell.print(`not running (${error.message})\nstart it with: ropewalk up --detach`);
        return exitCode.notReachable;
      } finally {
        client.close();
      }
    }),
  );
}

async function report(shell: Shell, client: LocalClient): Promise<void> {
  const [{ environment }, { health }, { providers }, { links }, { url, clients }] = await Promise.all([
    client.environment(),
    client.health(),
    client.providers(),
    client.links(),
    client.clients(),
  ]);
  shell.answer({ running: true, environment, url, health, providers, links, clients }, () => {
    const trouble = health.setAside.length + health.effectsSetAside.length;
    return facts([
      ["running", `${style("bold", oneLine(environment.name))} (${environment.id}), pid ${environment.pid}`],
      ["folder", environment.dir],
      ["threads", tally(health.counts.thread)],
      ["runs", tally(health.counts.run)],
      ["tasks", tally(health.counts.task)],
      [
        "providers",
        providers.map((p) => (p.instance === p.kind ? p.instance : `${p.instance} (${p.kind})`)).join(", ") || "none configured",
      ],
      [
        "links",
        links
          .map((l) => `${oneLine(l.name)}: ${linkWords(l)}${l.backlog > 0 ? `, ${counted(l.backlog, "message")} to send` : ""}`)
          .join("; ") || "none",
      ],
      ["programs", `${url === null ? "nothing listens on the network" : `come in at ${url}`}; ${counted(clients.length, "client")} let in`],
      ["retention", retentionWords(health.retention)],
      health.isNewIncarnation ? ["note", "this store is a copy of another: it goes on as a new incarnation"] : null,
      trouble === 0 ? null : [style("yellow", "trouble"), `${counted(trouble, "record")} set aside; see: ropewalk doctor`],
    ]);
  });
}

/** `3 idle, 1 running`. */
function tally(counts: Record<string, number> | undefined): string {
  const parts = Object.entries(counts ?? {}).filter(([, count]) => count > 0);
  return parts.map(([status, count]) => `${count} ${status.replaceAll("_", " ")}`).join(", ") || "none";
}
