import { refusal } from "../../schemas/refusal.ts";
import { problemResponse } from "./problem.ts";

/**
 * Bytes that never change under their name, or the one part of them that `Range: bytes=…` asks for. What is no such range
 * is passed over, as RFC 9110 wants it; one that lies behind the end is refused.
 */
export function bytesResponse(request: Request, bytes: Uint8Array, mediaType: string, etag: string): Response {
  const size = bytes.byteLength;
  const headers = {
    "content-type": mediaType,
    "accept-ranges": "bytes",
    etag: `"${etag}"`,
    "cache-control": "private, max-age=31536000, immutable",
    // What an agent wrote is not to be taken for a page.
    "x-content-type-options": "nosniff",
  };
  const range = isFor(request, headers.etag) ? rangeIn(request.headers.get("range"), size) : null;
  if (range === null) return new Response(bytes as Uint8Array<ArrayBuffer>, { headers: { ...headers, "content-length": String(size) } });
  if (range === "unsatisfiable") {
    const what = refusal("invalid_request", "unsatisfiable_range", `there are ${size} bytes`, "Ask for a range within them.", { size });
    return problemResponse(what, {}, { "content-range": `bytes */${size}` });
  }
  const [from, to] = range;
  const part = bytes.subarray(from, to + 1) as Uint8Array<ArrayBuffer>;
  return new Response(part, {
    status: 206,
    headers: { ...headers, "content-length": String(part.byteLength), "content-range": `bytes ${from}-${to}/${size}` },
  });
}

/** A range may be meant for other bytes than those that are here now. */
function isFor(request: Request, etag: string): boolean {
  const condition = request.headers.get("if-range");
  return condition === null || condition === etag;
}

/** First and last byte; null where all are meant. */
function rangeIn(header: string | null, size: number): [number, number] | "unsatisfiable" | null {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return null;
  if (first === "") return Number(last) === 0 || size === 0 ? "unsatisfiable" : [Math.max(0, size - Number(last)), size - 1];
  if (last !== "" && Number(last) < Number(first)) return null;
  if (Number(first) >= size) return "unsatisfiable";
  return [Number(first), last === "" ? size - 1 : Math.min(Number(last), size - 1)];
}
