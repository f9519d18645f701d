import { z } from "zod";
import { LinkId } from "../../../schemas/ids.ts";
import { Grant, type LinkConfig } from "../../../schemas/link.ts";
import { InviteOffer, InviteRequest, InviteView, JoinRequest, JoinResult } from "../../../schemas/pairing.ts";
import { Title } from "../../../schemas/text.ts";
import type { LinkDesk } from "../../runtime/link-desk.ts";
import { readJson } from "../body.ts";
import { parsed } from "../input.ts";
import { type Route, route } from "../route.ts";

const maxRequestBytes = 256 * 1024;

/** What only this machine's user may do about links: decide whom this environment trusts, and how far. On the socket alone. */
export function linkDeskRoutes(desk: LinkDesk): Route[] {
  const about = "links";
  const access = "writes_environment";
  const read = async <S extends z.ZodType>(schema: S, request: Request) => parsed(schema, await readJson(request, maxRequestBytes), "body");
  return [
    route({
      method: "POST",
      path: "/invites",
      name: "inviteToLink",
      about,
      summary: "A code by which one other environment is linked. Whoever has it may join. On the unix socket only.",
      access,
      body: InviteRequest,
      answer: { kind: "json", schema: InviteOffer },
      handle: async ({ request }) => desk.invite(await read(InviteRequest, request)),
    }),
    route({
      method: "GET",
      path: "/invites",
      name: "listInvites",
      about,
      summary: "Codes that were made, and what became of them; without their secrets. On the unix socket only.",
      access,
      answer: { kind: "json", schema: z.object({ invites: z.array(InviteView) }) },
      handle: () => ({ invites: desk.invites() }),
    }),
    route({
      method: "POST",
      path: "/invites/join",
      name: "joinByCode",
      about,
      summary: "Takes up another environment's code, and waits for its word. Safe to repeat. On the unix socket only.",
      access,
      body: JoinRequest,
      answer: { kind: "json", schema: JoinResult },
      handle: async ({ request }) => desk.join(await read(JoinRequest, request)),
    }),
    route({
      method: "POST",
      path: "/links/:id/rename",
      name: "renameLink",
      about,
      summary: "Calls a link otherwise, on this side. On the unix socket only.",
      access,
      params: { id: LinkId },
      body: z.strictObject({ name: Title.min(1) }),
      answer: { kind: "json", schema: Changed },
      async handle({ params: { id }, request }) {
        const { name } = await read(z.strictObject({ name: Title.min(1) }), request);
        return told(await desk.rename(id, name));
      },
    }),
    route({
      method: "POST",
      path: "/links/:id/grants",
      name: "grantToLink",
      about,
      summary: "What the other side may do here from now on: these grants and no others. On the unix socket only.",
      access,
      params: { id: LinkId },
      body: z.strictObject({ grants: z.array(Grant).max(20) }),
      answer: { kind: "json", schema: Changed },
      async handle({ params: { id }, request }) {
        const { grants } = await read(z.strictObject({ grants: z.array(Grant).max(20) }), request);
        return told(await desk.grant(id, grants));
      },
    }),
  ];
}

const Changed = z.object({ linkId: LinkId, name: Title, grants: z.array(Grant) });
const told = ({ id, name, grants }: LinkConfig): z.input<typeof Changed> => ({ linkId: id, name, grants });
