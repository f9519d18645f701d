import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { InviteOffer, InviteView, JoinResult } from "../../../schemas/pairing.ts";
import type { LocalClient } from "../../http/client.ts";
import { exitCode } from "../exit-codes.ts";
import { badInput } from "../failure.ts";
import { type GrantOptions, grantsOf, grantWords, withGrantOptions } from "../grants.ts";
import { during } from "../progress.ts";
import { online } from "../session.ts";
import { facts, table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { textArgument } from "../text-input.ts";
import { ago, ahead, duration } from "../time.ts";

type InviteOptions = GrantOptions & { nats?: string; creds?: string; peerCreds?: string; for?: string; wait?: string };
type JoinOptions = GrantOptions & { name?: string; wait?: string };

const lookMs = 500;

/** `link invite` on one machine, `link join CODE` on the other. */
export function addPairing(link: Command): void {
  const invite = link
    .command("invite")
    .description("make a code by which one other environment is linked; whoever has it may join, once")
    .argument("[name]", "what to call the other side (what it calls itself)");
  withGrantOptions(invite)
    .option("--nats <url>", "the NATS server that both can reach (the environment's, else NATS_URL)")
    .option("--creds <file>", "credentials of this side for that server")
    .option("--peer-creds <file>", "credentials that the other side is to use; they travel in the code")
    .option("--for <duration>", "how long the code is good, like 15m (1h)")
    .option("--wait <duration>", "wait for the other side to join, and show the fingerprint (exit code 5 when it does not)")
    .action(
      online<InviteOptions>(async (shell, client, { args: [name], options }) => {
        const offer = await during("asking the NATS server", client.invite(request(name, options)));
        if (options.wait === undefined) {
          shell.answer(offer, () => offered(offer));
          return undefined;
        }
        shell.note(offered(offer));
        const used = await during("waiting for the other side to join", joined(client, offer.inviteId, duration(options.wait)));
        shell.answer({ ...offer, usedBy: used }, () =>
          used === null ? "nobody has joined yet; the code stays good" : compare(used.fingerprint),
        );
        return used === null ? exitCode.waitBound : undefined;
      }),
    );
  const join = link
    .command("join")
    .description("take up a code of another environment")
    .argument("<code>", "the code, or - to read it from standard input")
    .option("--name <name>", "what to call the other side (what it calls itself)")
    .option("--wait <duration>", "how long to wait for its word (30s)");
  withGrantOptions(join).action(
    online<JoinOptions>(async (shell, client, { args: [code], options }) => {
      const { name, wait } = options;
      const asked = {
        code: await textArgument(code, "the code"),
        grants: grantsOf(options),
        ...(name !== undefined && { name }),
        ...(wait !== undefined && { waitMs: duration(wait) }),
      };
      const result = await during("waiting for the other side's word", client.join(asked));
      shell.answer(result, () => welcome(result));
      return undefined;
    }),
  );
  link
    .command("invites")
    .description("codes that were made, and what became of them")
    .action(
      online(async (shell, client) => {
        const { invites } = await client.invites();
        shell.answer({ invites }, () => (invites.length === 0 ? "no codes" : listed(invites)));
        return undefined;
      }),
    );
}

function request(name: string | undefined, options: InviteOptions) {
  const { nats, creds, peerCreds } = options;
  const around = process.env.NATS_URL;
  if (creds !== undefined && nats === undefined) throw badInput("no_broker", "--creds is for a server", "Name it with --nats.");
  return {
    grants: grantsOf(options),
    ...(name !== undefined && { name }),
    ...(nats !== undefined && { broker: { url: nats, ...(creds !== undefined && { credentialsFile: resolve(creds) }) } }),
    ...(nats === undefined && around !== undefined && around !== "" && { brokerIfNone: { url: around } }),
    ...(peerCreds !== undefined && { peerCredentials: credentials(peerCreds) }),
    ...(options.for !== undefined && { validForMs: duration(options.for) }),
  };
}

function credentials(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw badInput("unreadable_file", `${file} cannot be read: ${(error as Error).message}`, "Name a NATS credentials file.");
  }
}

async function joined(client: LocalClient, inviteId: string, waitMs: number): Promise<InviteView["usedBy"]> {
  for (const end = performance.now() + waitMs; performance.now() < end; ) {
    const { invites } = await client.invites();
    const used = invites.find((invite) => invite.inviteId === inviteId)?.usedBy ?? null;
    if (used !== null) return used;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
  return null;
}

function offered({ code, expiresAt, grants, brokerUrl, onThisMachineOnly }: InviteOffer): string {
  return [
    "On the other machine:",
    "",
    `  ropewalk link join ${style("bold", code)}`,
    "",
    facts([
      ["good", `once, for ${ahead(expiresAt)}; whoever has it may join, so send it where nobody else reads`],
      ["may do here", grantWords(grants)],
      brokerUrl === null ? null : ["meet at", oneLine(brokerUrl)],
    ]),
    ...(onThisMachineOnly ? ["", "That address leads to this machine alone: the code works for environments on it."] : []),
  ].join("\n");
}

function welcome({ name, linkId, fingerprint, created }: JoinResult): string {
  const linked = `${created ? "linked with" : "linked already with"} ${style("bold", oneLine(name))} (${linkId})`;
  return `${linked}\n${compare(fingerprint)}`;
}

const compare = (fingerprint: string): string =>
  `fingerprint ${style("bold", fingerprint)}: the other side shows the same (ropewalk link show); if not, somebody is between you: revoke it`;

function listed(invites: readonly InviteView[]): string {
  return table(
    invites.map(({ linkId, name, state, expiresAt, usedBy, grants, createdAt }) => [
      name === null ? "(unnamed)" : oneLine(name),
      state === "open" ? `good for ${ahead(expiresAt)}` : state === "used" ? `used ${ago(usedBy?.at ?? createdAt)}` : "expired",
      usedBy === null ? "" : `${linkId} ${usedBy.fingerprint}`,
      grantWords(grants),
    ]),
  );
}
