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
  | { kind: "text"; text: string }
  | { kind: "tool"; name: string; input: Record<string, unknown> }
  | { kind: "status"; status: number; message: string };

/** First rule that returns a reply wins; without one the model says `ok`. */
export type MessagesRule = (request: MessagesRequest) => MessagesReply | undefined;

/** A rule for prompts that contain `marker`, with one reply per round of the turn; the last one repeats. */
export function whenAsked(marker: string, ...replies: [MessagesReply, ...MessagesReply[]]): MessagesRule {
  return ({ prompt, outputs }) => (prompt.includes(marker) ? replies[Math.min(outputs.length, replies.length - 1)] : undefined);
}

export const answers = (text: string): MessagesReply => ({ kind: "text", text });

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
    answer(response, reply, received, this.requests.length);
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

function answer(response: ServerResponse, reply: MessagesReply, { body }: MessagesRequest, number: number): void {
  if (reply.kind === "status") {
    json(response, reply.status, { type: "error", error: { type: "invalid_request_error", message: reply.message } });
    return;
  }
  const block =
    reply.kind === "text"
      ? { type: "text", text: reply.text }
      : { type: "tool_use", id: `toolu_${number}`, name: reply.name, input: reply.input };
  const stopReason = reply.kind === "text" ? "end_turn" : "tool_use";
  const usage = { input_tokens: 100, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const message = { id: `msg_${number}`, type: "message", role: "assistant", model: body.model, stop_sequence: null, usage };
  if (body.stream !== true) {
    json(response, 200, { ...message, content: [block], stop_reason: stopReason });
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, data: Record<string, unknown>) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  send("message_start", { message: { ...message, content: [], stop_reason: null } });
  send("content_block_start", { index: 0, content_block: { ...block, ...(block.type === "text" ? { text: "" } : { input: {} }) } });
  const delta =
    reply.kind === "text"
      ? { type: "text_delta", text: reply.text }
      : { type: "input_json_delta", partial_json: JSON.stringify(reply.input) };
  send("content_block_delta", { index: 0, delta });
  send("content_block_stop", { index: 0 });
  send("message_delta", { delta: { stop_reason: stopReason, stop_sequence: null }, usage });
  send("message_stop", {});
  response.end();
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
