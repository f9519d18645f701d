import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request that an agent sent to its model: what the model was really told, which is what the tests assert on. */
export type ModelRequest = {
  /** The agent's own id of the conversation (header `thread-id`), or null. */
  threadId: string | null;
  headers: IncomingMessage["headers"];
  /** The whole history as sent, oldest first. */
  input: unknown[];
  /** `role: text` of every message in `input`, oldest first; tool outputs as `tool: output`. */
  transcript: string[];
  /** The last user message. */
  prompt: string;
  /** Tool outputs given since that message: how many rounds of the same turn came before. */
  outputs: string[];
  body: Record<string, unknown>;
};

export type ModelReply =
  /** An assistant message; `chunks` are sent as separate deltas. */
  | { kind: "text"; text: string; chunks?: string[] }
  | { kind: "tool"; namespace?: string; name: string; arguments: Record<string, unknown> }
  | { kind: "status"; status: number; message: string }
  /** Reads the request and never answers: not even headers, or (`afterDelta`) half a message and then nothing. */
  | { kind: "silence"; afterDelta?: string }
  /** Answers when `until` resolves. */
  | { kind: "later"; until: Promise<unknown>; reply: ModelReply };

/** First rule that returns a reply wins; without one the model says `ok`. */
export type ModelRule = (request: ModelRequest) => ModelReply | undefined;

/** A rule for prompts that contain `marker`, with one reply per round of the turn; the last one repeats. */
export function when(marker: string, ...replies: [ModelReply, ...ModelReply[]]): ModelRule {
  return ({ prompt, outputs }) => (prompt.includes(marker) ? replies[Math.min(outputs.length, replies.length - 1)] : undefined);
}

/** What makes the agent run a command in its shell. */
export const shell = (cmd: string): ModelReply => ({ kind: "tool", name: "exec_command", arguments: { cmd } });
export const say = (text: string, ...chunks: string[]): ModelReply =>
  chunks.length === 0 ? { kind: "text", text } : { kind: "text", text, chunks };

/** A model on loopback that speaks the streaming Responses API: just enough of it for an agent to run turns. */
export class ModelEndpoint implements AsyncDisposable {
  readonly requests: ModelRequest[] = [];
  /** `http://127.0.0.1:<port>/v1`. */
  readonly baseUrl: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  static async start(...rules: ModelRule[]): Promise<ModelEndpoint> {
    const server = createServer();
    await new Promise<void>((done, fail) => server.once("error", fail).listen(0, "127.0.0.1", done));
    const endpoint = new ModelEndpoint(server);
    server.on("request", (request, response) => void endpoint.#serve(request, response, rules));
    return endpoint;
  }

  /** The requests whose last user message contains `marker`. */
  about(marker: string): ModelRequest[] {
    return this.requests.filter((request) => request.prompt.includes(marker));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse, rules: ModelRule[]): Promise<void> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    if (request.method !== "POST" || !request.url?.endsWith("/responses")) {
      response.writeHead(404).end();
      return;
    }
    const received = readRequest(request, JSON.parse(text) as Record<string, unknown>);
    this.requests.push(received);
    const reply = rules.map((rule) => rule(received)).find((found) => found !== undefined) ?? say("ok");
    await answer(response, reply, this.requests.length);
  }
}

function readRequest(request: IncomingMessage, body: Record<string, unknown>): ModelRequest {
  const input = (body.input as InputItem[] | undefined) ?? [];
  const lastUser = input.findLastIndex((item) => item.role === "user");
  const prompt = input[lastUser];
  const threadId = request.headers["thread-id"];
  return {
    threadId: typeof threadId === "string" ? threadId : null,
    headers: request.headers,
    input,
    transcript: input.flatMap((item) =>
      item.type === "message" ? [`${item.role}: ${textOf(item.content)}`] : isOutput(item) ? [`tool: ${textOf(item.output)}`] : [],
    ),
    prompt: prompt === undefined ? "" : textOf(prompt.content),
    outputs: input
      .slice(lastUser + 1)
      .filter(isOutput)
      .map((item) => textOf(item.output)),
    body,
  };
}

type InputItem = { type?: string; role?: string; content?: unknown; output?: unknown };
const isOutput = (item: InputItem) => item.type?.endsWith("_call_output") === true;

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return JSON.stringify(content ?? "");
  return content.map((part: { text?: string }) => part.text ?? "").join("");
}

async function answer(response: ServerResponse, reply: ModelReply, number: number): Promise<void> {
  if (reply.kind === "later") {
    await reply.until;
    return answer(response, reply.reply, number);
  }
  if (reply.kind === "status") {
    response.writeHead(reply.status, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: reply.message } }));
    return;
  }
  if (reply.kind === "silence" && reply.afterDelta === undefined) return;
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, data: Record<string, unknown>) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  const id = `resp_${number}`;
  send("response.created", { response: { id } });
  if (reply.kind === "tool") {
    const call = {
      type: "function_call",
      id: `fc_${number}`,
      call_id: `call_${number}`,
      name: reply.name,
      ...(reply.namespace !== undefined && { namespace: reply.namespace }),
      arguments: JSON.stringify(reply.arguments),
    };
    send("response.output_item.done", { item: call });
  } else {
    const text = reply.kind === "silence" ? (reply.afterDelta ?? "") : reply.text;
    const message = { type: "message", role: "assistant", id: `msg_${number}`, content: [{ type: "output_text", text }] };
    send("response.output_item.added", { item: { ...message, content: [] } });
    for (const delta of (reply.kind === "text" ? reply.chunks : undefined) ?? [text])
      send("response.output_text.delta", { item_id: message.id, delta });
    if (reply.kind === "silence") return;
    send("response.output_item.done", { item: message });
  }
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 110,
  };
  send("response.completed", { response: { id, usage } });
  response.end();
}
