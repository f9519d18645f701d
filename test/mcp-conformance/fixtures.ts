import { setTimeout as delay } from "node:timers/promises";
import type {
  CallToolResult,
  ContentBlock,
  ElicitRequestFormParams,
  GetPromptResult,
  Prompt,
  PromptMessage,
  ReadResourceResult,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { McpOffer, OfferedTool } from "../../services/mcp/offer.ts";

/**
 * The tools, resources and prompts that the public conformance suite expects of a server for tests. They are offered by the
 * environment's own door, as a program that embeds an environment would offer its own.
 */
export const suiteFixtures: McpOffer = {
  capabilities: { logging: {}, prompts: {}, completions: {} },
  tools: [
    says("test_simple_text", text("This is a simple text response for testing.")),
    says("test_image_content", { type: "image", data: pixel(), mimeType: "image/png" }),
    says("test_audio_content", { type: "audio", data: silence(), mimeType: "audio/wav" }),
    says("test_embedded_resource", embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    says(
      "test_multiple_content_types",
      text("Multiple content types test:"),
      { type: "image", data: pixel(), mimeType: "image/png" },
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    tool("test_error_handling", () => ({ isError: true, content: [text("This tool intentionally returns an error for testing")] })),
    tool("test_tool_with_logging", logsAsItGoes),
    tool("test_tool_with_progress", tellsProgress),
    tool("test_reconnection", async (_, ctx) => {
      ctx.http?.closeSSE?.();
      await delay(100);
      return { content: [text("reconnected")] };
    }),
    tool("test_sampling", async ({ prompt }, ctx) => {
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: String(prompt) } }];
      const { content } = await ctx.mcpReq.send({ method: "sampling/createMessage", params: { messages, maxTokens: 100 } });
      return { content: [text(`LLM response: ${JSON.stringify(content)}`)] };
    }),
    tool("test_elicitation", ({ message }, ctx) => asks(ctx, String(message), nameAndAddress)),
    tool("test_elicitation_sep1034_defaults", (_, ctx) => asks(ctx, "With defaults", everyDefault)),
    tool("test_elicitation_sep1330_enums", (_, ctx) => asks(ctx, "With choices", everyChoice)),
    tool("json_schema_2020_12_tool", () => ({ content: [text("ok")] }), {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: { address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
      properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
      additionalProperties: false,
    }),
  ],
  readResource(uri) {
    if (uri === "test://static-text") return plain(uri, "text/plain", "This is the content of the static text resource.");
    if (uri === "test://static-binary") return { contents: [{ uri, mimeType: "image/png", blob: pixel() }] };
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    if (id === undefined) return null;
    return plain(uri, "application/json", JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }));
  },
  register(server: Server) {
    server.setRequestHandler("prompts/list", () => ({ prompts: prompts.map(({ listed }) => listed) }));
    server.setRequestHandler("prompts/get", ({ params }) => {
      const found = prompts.find(({ listed }) => listed.name === params.name);
      if (found === undefined) throw new Error(`there is no prompt ${params.name}`);
      return found.get(params.arguments ?? {});
    });
    server.setRequestHandler("completion/complete", () => ({ completion: { values: [], total: 0, hasMore: false } }));
  },
};

type Call = OfferedTool["call"];
type Schema = OfferedTool["listed"]["inputSchema"];

function tool(name: string, call: Call, inputSchema: Schema = { type: "object" }): OfferedTool {
  return { listed: { name, description: `What the suite calls ${name}.`, inputSchema }, access: "reads", call };
}

function says(name: string, ...content: ContentBlock[]): OfferedTool {
  return tool(name, () => ({ content }));
}

function text(said: string): ContentBlock {
  return { type: "text", text: said };
}

function embedded(uri: string, mimeType: string, said: string): ContentBlock {
  return { type: "resource", resource: { uri, mimeType, text: said } };
}

function plain(uri: string, mimeType: string, said: string): ReadResourceResult {
  return { contents: [{ uri, mimeType, text: said }] };
}

async function logsAsItGoes(_: unknown, ctx: ServerContext): Promise<CallToolResult> {
  for (const said of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
    await ctx.mcpReq.log("info", said);
    await delay(50);
  }
  return { content: [text("done")] };
}

async function tellsProgress(_: unknown, ctx: ServerContext): Promise<CallToolResult> {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progressToken !== undefined)
      await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
    await delay(50);
  }
  return { content: [text("done")] };
}

type Form = ElicitRequestFormParams["requestedSchema"];

/** Sent as part of the call: the library's own `elicitInput` is lost where the client's other stream is not open yet. */
async function asks(ctx: ServerContext, message: string, requestedSchema: Form): Promise<CallToolResult> {
  const { action, content } = await ctx.mcpReq.send({ method: "elicitation/create", params: { message, requestedSchema } });
  return { content: [text(`The answer: action=${action}, content=${JSON.stringify(content ?? {})}`)] };
}

const nameAndAddress: Form = {
  type: "object",
  properties: {
    username: { type: "string", description: "User's response" },
    email: { type: "string", description: "User's email address" },
  },
  required: ["username", "email"],
};

const everyDefault: Form = {
  type: "object",
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
};

const options = ["option1", "option2", "option3"];
const titled = ["First", "Second", "Third"].map((title, i) => ({ const: `value${i + 1}`, title }));
const everyChoice: Form = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: options },
    titledSingle: { type: "string", oneOf: titled },
    legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
    untitledMulti: { type: "array", items: { type: "string", enum: options } },
    titledMulti: { type: "array", items: { anyOf: titled } },
  },
};

type FixturePrompt = { listed: Prompt; get(args: Record<string, string>): GetPromptResult };

const prompts: FixturePrompt[] = [
  prompt("test_simple_prompt", [], () => [text("This is a simple prompt for testing.")]),
  prompt("test_prompt_with_arguments", ["arg1", "arg2"], ({ arg1, arg2 }) => [
    text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  ]),
  prompt("test_prompt_with_embedded_resource", ["resourceUri"], ({ resourceUri = "" }) => [
    embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
    text("Please process the embedded resource above."),
  ]),
  prompt("test_prompt_with_image", [], () => [
    { type: "image", data: pixel(), mimeType: "image/png" },
    text("Please analyze the image above."),
  ]),
];

function prompt(name: string, args: string[], says: (args: Record<string, string>) => ContentBlock[]): FixturePrompt {
  const listed = { name, description: `What the suite gets as ${name}.`, arguments: args.map((arg) => ({ name: arg, required: true })) };
  return { listed, get: (given) => ({ messages: says(given).map((content): PromptMessage => ({ role: "user", content })) }) };
}

/** A picture of one point. */
function pixel(): string {
  return "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
}

/** A sound of no length: the 44 bytes before the samples. */
function silence(): string {
  const wav = Buffer.alloc(44);
  wav.write("RIFF", 0);
  wav.writeUInt32LE(36, 4);
  wav.write("WAVEfmt ", 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(8_000, 24);
  wav.writeUInt32LE(8_000, 28);
  wav.writeUInt16LE(1, 32);
  wav.writeUInt16LE(8, 34);
  wav.write("data", 36);
  return wav.toString("base64");
}
