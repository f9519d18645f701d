import { z } from "zod";
import { type ClientGrant, ClientView, PairingOffer, PairingRequest } from "../../../schemas/client.ts";
import { ClientId } from "../../../schemas/ids.ts";
import { refusal } from "../../../schemas/refusal.ts";
import { readJson } from "../body.ts";
import { found, parsed } from "../input.ts";
import { type Route, route } from "../route.ts";
import { HttpRefusal } from "../statuses.ts";

/** What lets programs in; the composition root hands it in. */
export type ClientDoor = {
  /** Where programs come in; null while nobody listens on the network. */
  readonly url: string | null;
  pair(request: PairingRequest): { code: string; expiresAt: number; grant: ClientGrant };
  list(): ClientView[];
  /** False when it has nothing that could be taken back. */
  revoke(id: ClientId): boolean;
};

const maxRequestBytes = 64 * 1024;

/** What only this machine's user may do: make codes, see who was let in, take it back. On the socket alone. */
export function clientRoutes(door: ClientDoor): Route[] {
  const about = "clients";
  const access = "writes_environment";
  return [
    route({
      method: "GET",
      path: "/clients",
      name: "listClients",
      about,
      summary: "Programs that were let in and have a token that is good. On the unix socket only.",
      access,
      answer: { kind: "json", schema: z.object({ url: z.string().nullable(), clients: z.array(ClientView) }) },
      handle: () => ({ url: door.url, clients: door.list() }),
    }),
    route({
      method: "POST",
      path: "/clients/pairing",
      name: "pairClient",
      about,
      summary: "A code by which one program is let in, shown here and nowhere else. On the unix socket only.",
      access,
      body: PairingRequest,
      answer: { kind: "json", schema: PairingOffer },
      async handle({ request }) {
        const asked = parsed(PairingRequest, await readJson(request, maxRequestBytes), "body");
        const { url } = door;
        if (url === null) throw new HttpRefusal(notListening);
        return { ...door.pair(asked), url: `${url}/v1`, mcpUrl: `${url}/mcp` };
      },
    }),
    route({
      method: "POST",
      path: "/clients/:id/revoke",
      name: "revokeClient",
      about,
      summary: "Takes back all that a program was given; what it has open ends at once. On the unix socket only.",
      access,
      params: { id: ClientId },
      answer: { kind: "json", schema: z.object({ clientId: ClientId }) },
      refuses: ["not_found"],
      handle: ({ params: { id } }) => ({ clientId: found(door.revoke(id) ? id : null, "client", id) }),
    }),
  ];
}

const notListening = refusal(
  "orchestration_error",
  "no_listener",
  "this environment does not listen on the network, so that no program can reach it",
  'Take "http": null out of config.json, or start it with: ropewalk up --listen 127.0.0.1:0',
);
