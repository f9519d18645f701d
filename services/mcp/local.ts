import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { AccessKind } from "../../schemas/access.ts";
import { ClientId } from "../../schemas/ids.ts";
import { broadestModes } from "../../schemas/modes.ts";
import type { Environment } from "../runtime/environment-api.ts";
import type { McpAccess } from "./access.ts";
import { bearerToken } from "./bearer.ts";
import { isProfile } from "./profile.ts";
import type { McpStreamOptions } from "./stream.ts";

/** What an upgrade of a connection to the environment's socket asks for: MCP, a JSON document a line. */
const mcpUpgrade = "ropewalk-mcp";

const localClient = ClientId.parse("client:local");

/**
 * Who comes in by this machine's own socket: an agent by its thread's token; without a token a program of this machine's
 * user, as broad as the person, which is for its headers to narrow.
 */
function localAccess(environment: Environment): McpAccess {
  return {
    authenticate(request) {
      const token = bearerToken(request);
      if (token !== null) return environment.threadTools.callerOf(token);
      return { kind: "client", clientId: localClient, maxModes: broadestModes, access: AccessKind.options };
    },
  };
}

export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Answers an upgrade to {@link mcpUpgrade} at `/mcp` by serving MCP over what becomes of the connection. */
export function mcpUpgrades(environment: Environment, options: Omit<McpStreamOptions, "profile">): UpgradeHandler {
  const access = localAccess(environment);
  return async (incoming, socket, head) => {
    socket.once("error", () => socket.destroy());
    const request = asRequest(incoming);
    const profile = new URL(request.url).searchParams.get("profile");
    const isUnderstood = isMcp(incoming) && (profile === null || isProfile(profile));
    const refusal = !isUnderstood ? "400 Bad Request" : (await access.authenticate(request)) === null ? "401 Unauthorized" : null;
    if (refusal !== null) {
      socket.end(`HTTP/1.1 ${refusal}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    // The library is loaded with the first connection that needs it.
    const { serveMcpStream } = await import("./stream.ts");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${mcpUpgrade}\r\n\r\n`);
    if (head.length > 0) socket.unshift(head);
    serveMcpStream(environment, access, socket, request, { ...options, ...(profile !== null && isProfile(profile) && { profile }) });
  };
}

const isMcp = ({ method, headers, url }: IncomingMessage) =>
  method === "GET" && headers.upgrade?.toLowerCase() === mcpUpgrade && /^\/mcp(\?|$)/.test(url ?? "");

function asRequest({ url, headers }: IncomingMessage): Request {
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || name === "connection" || name === "upgrade" ? [] : [[name, [value].flat().join(", ")]],
  );
  return new Request(new URL(url ?? "/", "http://localhost"), { headers: given });
}
