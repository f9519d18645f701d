import type { Environment } from "../../runtime/environment-api.ts";
import { compressed, encodingFor } from "./encoding.ts";
import { type LiveSettings, type LiveSource, liveStream } from "./live.ts";

/** A view as an answer, compressed as the client takes it. Never kept by anybody in between, hence no `Vary`. */
export async function viewResponse(request: Request, view: object): Promise<Response> {
  const { bytes, encoding } = await compressed(Buffer.from(JSON.stringify(view)), acceptedBy(request));
  return new Response(new Uint8Array(bytes), {
    headers: {
      "content-type": "application/json",
      "content-length": String(bytes.length),
      "cache-control": "no-store",
      ...(encoding !== null && { "content-encoding": encoding }),
    },
  });
}

/** A live connection as an answer: lines of JSON, each flushed by itself. */
export function liveResponse(request: Request, environment: Environment, source: LiveSource, settings: LiveSettings): Response {
  const encoding = acceptedBy(request);
  return new Response(liveStream(environment, source, encoding, settings), {
    headers: {
      "content-type": "application/x-ndjson",
      "transfer-encoding": "chunked",
      "cache-control": "no-store",
      ...(encoding !== null && { "content-encoding": encoding }),
    },
  });
}

const acceptedBy = (request: Request) => encodingFor(request.headers.get("accept-encoding") ?? undefined);
