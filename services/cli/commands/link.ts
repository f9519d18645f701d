import { Command } from "commander";
import type { LinkView } from "../../runtime/environment-api.ts";
import { grantWords } from "../grants.ts";
import { linkId } from "../link-reference.ts";
import { online } from "../session.ts";
import { facts, table } from "../table.ts";
import { oneLine, style } from "../terminal.ts";
import { ago } from "../time.ts";
import { counted, linkWords } from "../words.ts";
import { addPairing } from "./link-pairing.ts";
import { addTrust } from "./link-trust.ts";

export function linkCommand(): Command {
  const command = new Command("link").description("other environments that this one works with");
  command
    .command("list")
    .description("the links and how they are")
    .action(
      online(async (shell, client) => {
        const { commit, links } = await client.links();
        shell.answer({ commit, links }, () =>
          links.length === 0
            ? "no links; make a code with: ropewalk link invite"
            : table(
                links.map((l) => [
                  oneLine(l.name),
                  linkWords(l),
                  l.peerEnvironmentId,
                  waiting(l),
                  l.lastSeenAt === null ? "never seen" : `seen ${ago(l.lastSeenAt)}`,
                ]),
              ),
        );
        return undefined;
      }),
    );
  command
    .command("show")
    .description("one link: where both directions stand, what waits, what was set aside")
    .argument("<link>", "name, id, or a unique beginning of it")
    .action(
      online(async (shell, client, { args: [ref = ""] }) => {
        const answer = await client.link(await linkId(client, ref));
        shell.answer(answer, () => told(answer.link));
        return undefined;
      }),
    );
  addPairing(command);
  addTrust(command);
  return command;
}

const waiting = (link: LinkView) =>
  link.backlog === 0 && link.openRequests.length === 0
    ? "nothing waits"
    : `${counted(link.backlog, "message")} to send, ${counted(link.openRequests.length, "open request")}`;

function told(link: LinkView): string {
  const position = ({ epoch, number }: LinkView["sent"]) => `${number} (epoch ${epoch})`;
  const lines = facts([
    ["link", `${style("bold", oneLine(link.name))} (${link.id})`],
    ["status", linkWords(link)],
    ["to", link.peerEnvironmentId],
    link.fingerprint === null ? null : ["fingerprint", `${link.fingerprint} (the other side shows the same)`],
    ["it may here", grantWords(link.grants)],
    ["sent", position(link.sent)],
    ["confirmed", position(link.receipted)],
    ["received", link.received === null ? "nothing yet" : position(link.received)],
    ["waiting", waiting(link)],
    ["seen", link.lastSeenAt === null ? "never" : ago(link.lastSeenAt)],
    link.ended == null ? null : [style("yellow", "ended"), `${link.ended.how}, ${ago(link.ended.at)}: ${oneLine(link.ended.reason)}`],
    link.divergence === null ? null : [style("yellow", "disagree"), oneLine(link.divergence.reason)],
  ]);
  const requests = link.openRequests.map((r) => `  ${r.requestId}  ${r.kind}  ${r.subject}`);
  const kept = link.keptMessages.map((m) => `  ${m.number} (epoch ${m.epoch}): ${oneLine(m.reason)}`);
  return [
    lines,
    ...(requests.length > 0 ? ["", link.status === "revoked" ? "requests whose outcome is unknown" : "open requests", ...requests] : []),
    ...(kept.length > 0 ? ["", "messages that could not be used", ...kept] : []),
  ].join("\n");
}
