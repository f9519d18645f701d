import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, type Server, type ServerContext } from "@modelcontextprotocol/server";
import { v7 } from "uuid";
import type { PublicCommand } from "../../schemas/command.ts";
import type { CommandId } from "../../schemas/ids.ts";
import type { Environment } from "../runtime/environment-api.ts";
import { Sight, type ToolCaller } from "./access.ts";
import { refusedAnswer } from "./answer.ts";
import { callTool } from "./call.ts";
import { listing, toolNamed } from "./catalogue.ts";
import { commandId } from "./command-id.ts";
import { instructions } from "./instructions.ts";
import { callOffered, type McpOffer, offeredTool } from "./offer.ts";
import type { Profile } from "./profile.ts";
import { ProtocolServer } from "./protocol-server.ts";
import { ToolRefused, toldOf } from "./refused.ts";
import { listResources, readResource, resourceTemplates } from "./resources.ts";
import { type NewsOf, offerSubscriptions, tellAll } from "./subscriptions.ts";
import type { ThreadNews } from "./thread-news.ts";
import type { Done, ToolContext } from "./tool.ts";
import { parseUri } from "./uris.ts";

export type McpParts = {
  environment: Environment;
  news: ThreadNews;
  /** The package's version, which a client is told. */
  version: string;
  /** What an embedding program has beside. */
  offer?: McpOffer | undefined;
  /** Told of errors that nobody foresaw. */
  onError?: ((error: unknown) => void) | undefined;
};

export type ServerRole = {
  /** Who calls now, or, without a request, whose connection it is. Throws a refusal when nobody vouches for it any more. */
  caller(context: ServerContext | null): ToolCaller | Promise<ToolCaller>;
  profile: Profile;
  /**
   * How changed threads are told: to who asked by `resources/subscribe`, each one (something in front chooses), or not
   * here (each server answers one request).
   */
  news: "subscribed" | "every" | "none";
};

/** One MCP server for one serving unit: a session, a stream, or a single request. Both revisions of the protocol. */
export function createMcpServer(parts: McpParts, role: ServerRole): Server {
  const { environment, offer } = parts;
  const onError = (error: unknown) => parts.onError?.(error);
  const server = new ProtocolServer(
    { name: "ropewalk", title: `ropewalk: ${environment.name}`, version: parts.version },
    { capabilities: { ...offer?.capabilities, tools: {}, resources: { subscribe: true } }, instructions },
    onError,
  );
  const reading = (caller: ToolCaller) => ({ environment, sight: new Sight(environment, caller) });

  const offered = offer?.tools?.flatMap(({ listed }) => (toolNamed(listed.name) === null ? [listed] : [])) ?? [];
  server.setRequestHandler("tools/list", () => ({ tools: [...listing(role.profile), ...offered] }));
  server.setRequestHandler("tools/call", async ({ params }, ctx) => {
    let caller: ToolCaller;
    try {
      caller = await role.caller(ctx);
    } catch (error) {
      return refusedAnswer(toldOf(error));
    }
    const tool = toolNamed(params.name);
    if (tool !== null) return callTool(tool, params.arguments, contextOf(environment, caller, reading(caller).sight, ctx), onError);
    const beside = offeredTool(offer, params.name);
    if (beside !== null) return callOffered(beside, params.arguments ?? {}, caller, ctx, onError);
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool ${params.name}`);
  });

  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates }));
  server.setRequestHandler("resources/list", async ({ params }, ctx) => listResources(reading(await role.caller(ctx)), params?.cursor));
  server.setRequestHandler("resources/read", async ({ params }, ctx) => {
    const read = readResource(reading(await role.caller(ctx)), params.uri) ?? offer?.readResource?.(params.uri) ?? null;
    if (read === null) throw new ResourceNotFoundError(params.uri);
    return read;
  });
  if (role.news !== "none") (role.news === "every" ? tellAll : offerSubscriptions)(server, newsOf(parts, role));
  offer?.register?.(server);
  return server;
}

function newsOf({ environment, news }: McpParts, role: ServerRole): NewsOf {
  return {
    news,
    sight: async (ctx) => new Sight(environment, await role.caller(ctx)),
    tells(sight, uri) {
      const name = parseUri(uri);
      const thread = name?.kind === "thread" ? environment.threads.get(name.threadId) : null;
      return thread !== null && sight.sees(thread);
    },
  };
}

function contextOf(environment: Environment, caller: ToolCaller, sight: Sight, ctx: ServerContext): ToolContext {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  return {
    environment,
    caller,
    sight,
    signal: ctx.mcpReq.signal,
    progress(done, total, message) {
      if (progressToken === undefined || ctx.mcpReq.signal.aborted) return;
      const params = { progressToken, progress: done, total, message };
      // Who asked may be gone; that is for the transport to notice.
      void ctx.mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
    },
    async dispatch<C extends PublicCommand>(command: C, clientRequestId: string | null): Promise<Done<C>> {
      const id = clientRequestId === null ? (`cmd:mcp:${v7()}` as CommandId) : commandId(caller, clientRequestId);
      const receipt = await environment.dispatch(command, { id, caller });
      if (!receipt.ok) throw new ToolRefused(receipt.refusal);
      return { result: receipt.result as Done<C>["result"], repeated: receipt.repeated };
    },
  };
}
