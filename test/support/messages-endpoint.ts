import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request that an agent sent to its model over the Messages API. */
export type MessagesRequest = {
  headers: IncomingMessage["headers"];
  /** `role: text` of every message, oldest first; tool results as `tool: result`. Reminders that the agent adds are left out. */
  transcript: string[];
  /** The last text of the user. */
  prompt: string;
  /** Tool results given since that text: how many rounds of the same turn came before. */
  outputs: string[];
  body: Record<string, unknown>;
};

export type MessagesReply =
  /** A message; `chunks` are sent as separate deltas, `thinking` before them in a block of its own. */
  | { kind: "text"; text: string; chunks?: string[]; thinking?: string }
  | { kind: "tool"; name: string; input: Record<string, unknown> }
  /** `after`: in how many seconds it may be asked again, as the header `retry-after`. */
  | { kind: "status"; status: number; message: string; after?: number }
  /** Reads the request and never answers: not even headers, or (`afterDelta`) half a message and then nothing. */
  | { kind: "silence"; afterDelta?: string }
  /** Answers when `until` resolves. */
  | { kind: "later"; until: Promise<unknown>; reply: MessagesReply };

/** First rule that returns a reply wins; without one the model says `ok`. */
export type MessagesRule = (request: MessagesRequest) => MessagesReply | undefined;

/** A rule for prompts that contain `marker`, with one reply per round of the turn; the last one repeats. */
export function whenAsked(marker: string, ...replies: [MessagesReply, ...MessagesReply[]]): MessagesRule {
  return ({ prompt, outputs }) => (prompt.includes(marker) ? replies[Math.min(outputs.length, replies.length - 1)] : undefined);
}

export const answers = (text: string, ...chunks: string[]): MessagesReply =>
  chunks.length === 0 ? { kind: "text", text } : { kind: "text", text, chunks };
/** What makes the agent call a tool of its own. */
export const calls = (name: string, input: Record<string, unknown>): MessagesReply => ({ kind: "tool", name, input });

/** A model on loopback that speaks the streaming Messages API: just enough of it for Claude Code to run turns. */
export class MessagesEndpoint implements AsyncDisposable {
  readonly requests: MessagesRequest[] = [];
  /** `http://127.0.0.1:<port>`, as ANTHROPIC_BASE_URL has it. */
  readonly baseUrl: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(...rules: MessagesRule[]): Promise<MessagesEndpoint> {
    const server = createServer();
    await new Promise<void>((done, fail) => server.once("error", fail).listen(0, "127.0.0.1", done));
    const endpoint = new MessagesEndpoint(server);
    server.on("request", (request, response) => void endpoint.#serve(request, response, rules));
    return endpoint;
  }

  /** The requests whose last text of the user contains `marker`. */
  about(marker: string): MessagesRequest[] {
    return this.requests.filter((request) => request.prompt.includes(marker));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse, rules: MessagesRule[]): Promise<void> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    const path = request.url?.split("?")[0];
    if (request.method === "POST" && path === "/v1/messages/count_tokens") {
      json(response, 200, { input_tokens: 100 });
      return;
    }
    if (request.method !== "POST" || path !== "/v1/messages") {
      json(response, 404, {});
      return;
    }
    const received = readRequest(request, JSON.parse(text) as Record<string, unknown>);
    this.requests.push(received);
    const reply = rules.map((rule) => rule(received)).find((found) => found !== undefined) ?? answers("ok");
    await answer(response, reply, received, this.requests.length);
  }
}

type Block = { type: string; text?: string; content?: unknown };
type Message = { role: string; content: string | Block[] };

const blocksOf = ({ content }: Message): Block[] => (typeof content === "string" ? [{ type: "text", text: content }] : content);
const isReminder = ({ text = "" }: Block) => /^\s*<system-reminder>/.test(text);
const textIn = (content: unknown): string =>
  typeof content === "string" ? content : Array.isArray(content) ? content.map((block: Block) => block.text ?? "").join("") : "";

function readRequest({ headers }: IncomingMessage, body: Record<string, unknown>): MessagesRequest {
  let prompt = "";
  let outputs: string[] = [];
  const transcript: string[] = [];
  for (const message of (body.messages as Message[] | undefined) ?? []) {
    for (const block of blocksOf(message)) {
      if (block.type === "tool_result") {
        outputs.push(textIn(block.content));
        transcript.push(`tool: ${textIn(block.content)}`);
      } else if (block.type === "text" && !isReminder(block)) {
        transcript.push(`${message.role}: ${block.text}`);
        if (message.role === "user") [prompt, outputs] = [block.text ?? "", []];
      }
    }
  }
  return { headers, transcript, prompt, outputs, body };
}

const usage = { input_tokens: 100, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const errorTypes: Record<number, string> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  500: "api_error",
  529: "overloaded_error",
};

async function answer(response: ServerResponse, reply: MessagesReply, request: MessagesRequest, number: number): Promise<void> {
  switch (reply.kind) {
    case "later":
      await reply.until;
      return answer(response, reply.reply, request, number);
    case "status": {
      if (reply.after !== undefined) response.setHeader("retry-after", String(reply.after));
      const type = errorTypes[reply.status] ?? "invalid_request_error";
      json(response, reply.status, { type: "error", error: { type, message: reply.message } });
      return;
    }
    case "silence":
      if (reply.afterDelta !== undefined)
        new MessageStream(response, request, number).block({ kind: "text", text: reply.afterDelta }, false);
      return;
    default:
      if (request.body.stream === true) new MessageStream(response, request, number).whole(reply);
      else json(response, 200, { ...head(request, number), content: blocksIn(reply, number), stop_reason: stopReason(reply) });
  }
}

type Answered = Extract<MessagesReply, { kind: "text" | "tool" }>;
const stopReason = (reply: Answered) => (reply.kind === "text" ? "end_turn" : "tool_use");
const head = ({ body }: MessagesRequest, number: number) => ({
  id: `msg_${number}`,
  type: "message",
  role: "assistant",
  model: body.model,
  stop_sequence: null,
  usage,
});
const blocksIn = (reply: Answered, number: number) =>
  reply.kind === "text"
    ? [{ type: "text", text: reply.text }]
    : [{ type: "tool_use", id: `toolu_${number}`, name: reply.name, input: reply.input }];

/** One answer as server-sent events. */
class MessageStream {
  readonly #response: ServerResponse;
  readonly #number: number;
  #index = 0;

  constructor(response: ServerResponse, request: MessagesRequest, number: number) {
    this.#response = response;
    this.#number = number;
    response.writeHead(200, { "content-type": "text/event-stream" });
    this.#send("message_start", { message: { ...head(request, number), content: [], stop_reason: null } });
  }

  whole(reply: Answered): void {
    if (reply.kind === "text" && reply.thinking !== undefined) this.#thinking(reply.thinking);
    this.block(reply, true);
    this.#send("message_delta", { delta: { stop_reason: stopReason(reply), stop_sequence: null }, usage });
    this.#send("message_stop", {});
    this.#response.end();
  }

  block(reply: Answered, isWhole: boolean): void {
    const empty = reply.kind === "text" ? { text: "" } : { input: {} };
    const deltas =
      reply.kind === "text"
        ? (reply.chunks ?? [reply.text]).map((text) => ({ type: "text_delta", text }))
        : [{ type: "input_json_delta", partial_json: JSON.stringify(reply.input) }];
    this.#blockOf({ ...blocksIn(reply, this.#number)[0], ...empty }, deltas, isWhole);
  }

  #thinking(thinking: string): void {
    const deltas = [
      { type: "thinking_delta", thinking },
      { type: "signature_delta", signature: "c2lnbmVk" },
    ];
    this.#blockOf({ type: "thinking", thinking: "", signature: "" }, deltas, true);
  }

  #blockOf(block: Record<string, unknown>, deltas: Record<string, unknown>[], isWhole: boolean): void {
    this.#send("content_block_start", { index: this.#index, content_block: block });
    for (const delta of deltas) this.#send("content_block_delta", { index: this.#index, delta });
    if (isWhole) this.#send("content_block_stop", { index: this.#index });
    this.#index += 1;
  }

  #send(type: string, data: Record<string, unknown>): void {
    this.#response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
