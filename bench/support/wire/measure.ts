import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ThreadId } from "../../../schemas/ids.ts";
import type { ThreadLiveLine } from "../../../schemas/live.ts";
import type { ItemView, ThreadSnapshot, TurnView, ViewText } from "../../../schemas/thread-view.ts";
import { createEnvironment } from "../../../services/environment.ts";
import type { Environment } from "../../../services/runtime/environment-api.ts";
import { serveEnvironment } from "../../../services/serving.ts";
import { withFolder } from "../folder.ts";
import { claudeFromFrames } from "./claude-frames.ts";
import { codexFromFrames } from "./codex-frames.ts";
import { RawResponse } from "./raw-http.ts";
import { type WireText, type WireTurn, wireScenario } from "./scenario.ts";

export type WireProvider = "codex" | "claude";

/** Bytes on the socket, and what they hold. */
export type WireSizes = {
  /** A fresh response with the snapshot: status line, headers, compressed body. */
  snapshot: number;
  snapshotDecoded: number;
  /** The live connection from `synchronized` to the turn's last change, HTTP's framing included. */
  live: number;
  liveDecoded: number;
  messages: number;
  /** Bodies of the same snapshot by the two encodings, without headers. */
  brotli: number;
  gzip: number;
  /** The response with a page of the newest three turns in place of all ten. */
  paged: number;
  /** Texts that were left to be fetched, each fetched and found equal to what the provider had said. */
  fetched: number;
};

/** The sync scenario (performance.md), once, over the environment's own socket. `coalesceMs`: another window than the usual one. */
export function measureWire(provider: WireProvider, text: WireText, coalesceMs?: number): Promise<WireSizes> {
  return withFolder(async (dir) => {
    const { history, live } = wireScenario(text);
    const turns = [...history, live];
    let next = 0;
    const stateDir = join(dir, "state");
    mkdirSync(stateDir);
    const turn = () => turns[next++] as WireTurn;
    const adapter = provider === "codex" ? codexFromFrames(stateDir, turn) : claudeFromFrames(stateDir, turn);
    const config = { providers: {}, defaultProvider: provider };
    const environment = await createEnvironment({ dir, adapters: { [provider]: adapter }, config });
    const server = await serveEnvironment(environment, coalesceMs === undefined ? {} : { coalesceMs });
    try {
      const { threadId } = await environment.send({ type: "thread.create" });
      for (const { message } of history) await say(environment, threadId, message);
      return await measure(environment, server.socket, threadId, turns);
    } finally {
      await server.close();
      await environment.close();
    }
  });
}

async function measure(environment: Environment, socket: string, threadId: ThreadId, turns: WireTurn[]): Promise<WireSizes> {
  const path = `/v1/threads/${threadId}/view`;
  const opened = await read(socket, path, "br, zstd, gzip");
  const snapshot = JSON.parse(opened.text) as ThreadSnapshot;
  const [gzip, paged] = [await read(socket, path, "gzip"), await read(socket, `${path}?limit=24`, "br")];
  const lived = await follow(environment, socket, threadId, snapshot.commit, (turns.at(-1) as WireTurn).message);
  const fetched = await fetchAll(socket, [...snapshot.turns, ...lived.turns], turns);
  return {
    snapshot: opened.response.bytes,
    snapshotDecoded: opened.response.decoded,
    live: lived.bytes,
    liveDecoded: lived.decoded,
    messages: lived.messages,
    brotli: Number(opened.response.headers.get("content-length")),
    gzip: Number(gzip.response.headers.get("content-length")),
    paged: paged.response.bytes,
    fetched,
  };
}

async function read(socket: string, path: string, acceptEncoding: string | null): Promise<{ response: RawResponse; text: string }> {
  const pieces: string[] = [];
  const response = new RawResponse(socket, { path, acceptEncoding }, (text) => pieces.push(text));
  await response.ended.promise;
  if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}: ${pieces.join("")}`);
  return { response, text: pieces.join("") };
}

/** Follows from a commit, says something once all before it is told, and counts until the turn's end is told. */
async function follow(environment: Environment, socket: string, threadId: ThreadId, after: number, message: string) {
  const [synchronized, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const turns: TurnView[] = [];
  let rest = "";
  const response = new RawResponse(
    socket,
    { path: `/v1/threads/${threadId}/live?after=${after}`, acceptEncoding: "br, zstd, gzip" },
    (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines.map((line) => JSON.parse(line) as ThreadLiveLine)) {
        if (line.type === "synchronized") synchronized.resolve();
        if (line.type !== "patch") continue;
        turns.push(...(line.turns ?? []));
        if (line.turns?.some(({ run }) => run?.status === "completed")) ended.resolve();
      }
    },
  );
  await synchronized.promise;
  const before = { bytes: response.bytes, decoded: response.decoded, chunks: response.chunks };
  await say(environment, threadId, message);
  await ended.promise;
  response.close();
  return {
    bytes: response.bytes - before.bytes,
    decoded: response.decoded - before.decoded,
    messages: response.chunks - before.chunks,
    turns,
  };
}

async function say(environment: Environment, threadId: ThreadId, text: string): Promise<void> {
  const { runId } = await environment.send({ type: "thread.send", threadId, text });
  const run = await environment.runs.wait(runId);
  if (run?.status !== "completed") throw new Error(`the turn ended as ${run?.status}: ${run?.error?.message}`);
}

/** Texts of items that are looked at here. */
const parts = ["content", "output", "result"] as const;

/** Fetches what was left out, and holds every text, in order, against what the provider had said. Returns how many were fetched. */
async function fetchAll(socket: string, turns: readonly TurnView[], told: readonly WireTurn[]): Promise<number> {
  let fetched = 0;
  const expected = told.flatMap(textsOf);
  for (const item of turns.flatMap(({ items = [] }) => items))
    for (const part of parts) {
      const shown = (item as ItemView & { [part in (typeof parts)[number]]?: ViewText })[part];
      if (shown === undefined) continue;
      const whole = typeof shown === "string" ? shown : (await read(socket, `/v1/items/${item.id}/content/${part}`, null)).text;
      if (whole !== expected.shift()) throw new Error(`${part} of ${item.id} is not what was said`);
      if (typeof shown === "string") continue;
      if (shown.bytes !== Buffer.byteLength(whole)) throw new Error(`${item.id} says another size than it has`);
      fetched += 1;
    }
  if (expected.length > 0) throw new Error(`${expected.length} texts are missing`);
  return fetched;
}

const textsOf = ({ message, text, commands, tool }: WireTurn): string[] => [
  message,
  text,
  ...commands.map(({ output }) => output),
  tool.result,
];
