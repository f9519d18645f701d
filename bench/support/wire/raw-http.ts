import { connect, type Socket } from "node:net";
import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createZstdDecompress,
  type Gunzip,
  type ZstdDecompress,
} from "node:zlib";

/**
 * One HTTP/1.1 response read off a bare socket: every byte that arrives is counted, status line, headers and framing
 * included, and nothing is done for us by a client library.
 */
export class RawResponse {
  /** Bytes on the socket so far. */
  bytes = 0;
  /** Chunks of the body (HTTP's own framing) so far. */
  chunks = 0;
  /** Bytes of the body after decompression so far. */
  decoded = 0;
  status = 0;
  /** Whether the body came to its end, rather than being cut off. */
  isWhole = false;
  headers = new Map<string, string>();
  readonly #socket: Socket;
  readonly #onText: (text: string) => void;
  #rest: Buffer = Buffer.alloc(0);
  #left: number | null = null;
  #decoder: BrotliDecompress | Gunzip | ZstdDecompress | null = null;
  #utf8 = new TextDecoder();
  readonly ended = Promise.withResolvers<void>();

  constructor(socketPath: string, request: { path: string; acceptEncoding: string | null }, onText: (text: string) => void) {
    this.#onText = onText;
    this.#socket = connect({ path: socketPath });
    const accept = request.acceptEncoding === null ? "" : `accept-encoding: ${request.acceptEncoding}\r\n`;
    this.#socket.write(`GET ${request.path} HTTP/1.1\r\nhost: localhost\r\n${accept}\r\n`);
    this.#socket.on("data", (data: Buffer) => {
      this.bytes += data.length;
      this.#rest = Buffer.concat([this.#rest, data]);
      this.#read();
    });
    this.#socket.on("close", () => (this.#decoder === null ? this.ended.resolve() : this.#decoder.end()));
    this.#socket.on("error", (error) => this.ended.reject(error));
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(): void {
    if (this.status === 0 && !this.#readHead()) return;
    if (this.headers.get("transfer-encoding") === "chunked") while (this.#readChunk());
    else {
      this.#left = (this.#left ?? Number(this.headers.get("content-length"))) - this.#rest.length;
      this.#take(this.#rest);
      this.#rest = Buffer.alloc(0);
      if (this.#left === 0) this.#end();
    }
  }

  #readHead(): boolean {
    const end = this.#rest.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const [line = "", ...fields] = this.#rest.subarray(0, end).toString("latin1").split("\r\n");
    this.status = Number(line.split(" ")[1]);
    for (const field of fields) {
      const colon = field.indexOf(":");
      this.headers.set(field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim());
    }
    this.#rest = this.#rest.subarray(end + 4);
    this.#decoder = decoderOf(this.headers.get("content-encoding"));
    this.#decoder?.on("data", (data: Buffer) => this.#told(data));
    this.#decoder?.on("end", () => this.ended.resolve());
    // Cut off in the middle: what could be read has been told.
    this.#decoder?.on("error", () => this.ended.resolve());
    return true;
  }

  #readChunk(): boolean {
    const line = this.#rest.indexOf("\r\n");
    if (line < 0) return false;
    const size = Number.parseInt(this.#rest.subarray(0, line).toString("latin1"), 16);
    if (this.#rest.length < line + 2 + size + 2) return false;
    const chunk = this.#rest.subarray(line + 2, line + 2 + size);
    this.#rest = this.#rest.subarray(line + 2 + size + 2);
    if (size === 0) {
      this.isWhole = true;
      this.#end();
      return false;
    }
    this.chunks += 1;
    this.#take(chunk);
    return true;
  }

  #take(body: Buffer): void {
    if (body.length === 0) return;
    if (this.#decoder === null) this.#told(body);
    else this.#decoder.write(body);
  }

  #told(body: Buffer): void {
    this.decoded += body.length;
    this.#onText(this.#utf8.decode(body, { stream: true }));
  }

  #end(): void {
    this.#socket.destroy();
  }
}

function decoderOf(encoding: string | undefined) {
  if (encoding === "br") return createBrotliDecompress();
  if (encoding === "zstd") return createZstdDecompress();
  return encoding === "gzip" ? createGunzip() : null;
}
