import { Command } from "commander";
import type { AccessKind } from "../../../schemas/access.ts";
import type { ClientView, PairingOffer } from "../../../schemas/client.ts";
import type { ClientId } from "../../../schemas/ids.ts";
import type { Modes } from "../../../schemas/modes.ts";
import { accessOption } from "../access-option.ts";
import { badInput } from "../failure.ts";
import { type ModeOptions, modesOf, withModeOptions } from "../modes.ts";
import { online } from "../session.ts";
import { shortIds } from "../short-ids.ts";
import { facts, table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { ago, ahead } from "../time.ts";

type AddOptions = ModeOptions & { name?: string; access?: AccessKind[] };

export function clientCommand(): Command {
  const command = new Command("client").description("programs that are let in over the network");
  const add = command
    .command("add")
    .description("make a code by which one program is let in")
    .option("--name <name>", "what to call it (what it calls itself)");
  withModeOptions(add)
    .addOption(accessOption("all but writes_environment"))
    .action(
      online<AddOptions>(async (shell, client, { options }) => {
        const { name, access } = options;
        const offer = await client.addClient({
          ...(name !== undefined && { name }),
          ...modesOf(options),
          ...(access !== undefined && { access }),
        });
        shell.answer(offer, () => offered(offer));
        return undefined;
      }),
    );
  command
    .command("list")
    .description("who was let in, what they may do, when they were here last, and until when")
    .action(
      online(async (shell, client) => {
        const { url, clients } = await client.clients();
        shell.answer({ url, clients }, () =>
          clients.length === 0 ? "nobody is let in; make a code with: ropewalk client add" : listed(clients),
        );
        return undefined;
      }),
    );
  command
    .command("revoke")
    .description("take back all that a program was given; what it has open ends at once")
    .argument("<client>", "id, a unique beginning of it, or name")
    .action(
      online(async (shell, client, { args: [ref = ""] }) => {
        const { id, name } = meant((await client.clients()).clients, ref);
        const { clientId } = await client.revokeClient(id);
        shell.answer({ clientId, name }, () => `${oneLine(name)} (${clientId}) has no access any more`);
        return undefined;
      }),
    );
  return command;
}

function offered({ code, expiresAt, grant, url, mcpUrl }: PairingOffer): string {
  return [
    facts([
      ["code", `${style("bold", code)} (good once, for ${ahead(expiresAt)})`],
      ["tools", `${mcpUrl} (MCP: give the program this address)`],
      ["API", url],
      ["may", grant.access.join(", ")],
      ["modes", `at most ${modes(grant.maxModes)}`],
    ]),
    "",
    "The program opens a page in a browser; type the code there, and see what it gives before you allow it.",
  ].join("\n");
}

function listed(clients: readonly ClientView[]): string {
  const short = shortIds(clients.map(({ id }) => id));
  return table(
    clients.map(({ id, name, program, tokens }) => {
      const used = Math.max(...tokens.map(({ usedAt }) => usedAt ?? 0));
      const until = Math.max(...tokens.map(({ expiresAt }) => expiresAt));
      const [latest] = tokens;
      return [
        name === program ? oneLine(name) : `${oneLine(name)} (${oneLine(program)})`,
        short.get(id) ?? id,
        latest === undefined ? "" : `${latest.access.join(", ")}; ${modes(latest.maxModes)}`,
        used === 0 ? "not used yet" : `used ${ago(used)}`,
        `for ${ahead(until)}`,
      ];
    }),
  );
}

const modes = ({ runtimeMode, interactionMode }: Modes): string => `${runtimeMode}, ${interactionMode}`;

function meant(clients: readonly ClientView[], ref: string): { id: ClientId; name: string } {
  const digits = ref
    .toLowerCase()
    .replace(/^client:/, "")
    .replaceAll("-", "");
  const named = clients.filter(({ id, name }) => name === ref || id === ref);
  const begun = digits === "" ? [] : clients.filter(({ id }) => id.slice("client:".length).replaceAll("-", "").startsWith(digits));
  const [found, second] = named.length > 0 ? named : begun;
  if (found === undefined) throw badInput("unknown_reference", `there is no client "${ref}" that was let in`, "See: ropewalk client list");
  if (second !== undefined)
    throw badInput("ambiguous_reference", `"${ref}" may mean more than one client`, "Type more of its id; see: ropewalk client list");
  return found;
}
