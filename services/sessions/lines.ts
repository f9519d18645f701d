import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { Readable } from "node:stream";
import { createZstdDecompress } from "node:zlib";

/** A longer line is not read; nothing that people said is as long. */
export const maxLineBytes = 32 * 1024 * 1024;
const chunkBytes = 256 * 1024;
const newline = 0x0a;

export type Line = { line: number; value: Record<string, unknown> } | { line: number; why: string };

/**
 * A file of one JSON object a line, open for reading. It is read as far as it went when it was opened, as often as is asked,
 * also when it is written, moved or deleted meanwhile; a chunk and one line of it are in memory at a time.
 */
export class LineFile implements AsyncDisposable {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
  readonly #handle: FileHandle;
  readonly #size: number;

  private constructor(path: string, handle: FileHandle, size: number, changedAt: number) {
    this.path = path;
    this.#handle = handle;
    this.#size = size;
    this.changedAt = changedAt;
  }

  /** Throws what the system says when it cannot be opened, and for what is no regular file. */
  static async open(path: string): Promise<LineFile> {
    // A pipe would keep an open waiting for its other end.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) throw new Error("it is no regular file");
      return new LineFile(path, handle, stat.size, Math.round(stat.mtimeMs));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }

  /** Every line that is not blank, with what it says or why it says nothing. Throws when the disk fails. */
  async *lines(): AsyncGenerator<Line> {
    let line = 1;
    let pieces: Buffer[] = [];
    let bytes = 0;
    let tooLong = false;
    for await (const chunk of this.#chunks()) {
      let from = 0;
      for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
        const read = tooLong ? overlong(line) : parse(line, join(pieces, chunk.subarray(from, at)), true);
        if (read !== null) yield read;
        [pieces, bytes, tooLong] = [[], 0, false];
        line += 1;
        from = at + 1;
      }
      const rest = chunk.subarray(from);
      bytes += rest.length;
      tooLong ||= bytes > maxLineBytes;
      if (tooLong) pieces = [];
      // The chunk's memory is used again for the next one.
      else if (rest.length > 0) pieces.push(Buffer.from(rest));
    }
    const last = tooLong ? overlong(line) : parse(line, Buffer.concat(pieces), false);
    if (last !== null) yield last;
  }

  async *#chunks(): AsyncGenerator<Buffer> {
    if (!this.path.endsWith(".zst")) return yield* this.#bytes();
    const whole = Readable.from(this.#bytes()).pipe(createZstdDecompress());
    for await (const chunk of whole) yield chunk as Buffer;
  }

  async *#bytes(): AsyncGenerator<Buffer> {
    const buffer = Buffer.allocUnsafe(chunkBytes);
    const fresh = this.path.endsWith(".zst");
    for (let at = 0; at < this.#size; ) {
      const { bytesRead } = await this.#handle.read(buffer, 0, Math.min(chunkBytes, this.#size - at), at);
      if (bytesRead === 0) return;
      at += bytesRead;
      const read = buffer.subarray(0, bytesRead);
      yield fresh ? Buffer.from(read) : read;
    }
  }
}

const join = (pieces: Buffer[], last: Buffer): Buffer => (pieces.length === 0 ? last : Buffer.concat([...pieces, last]));
const overlong = (line: number): Line => ({ line, why: `it is longer than ${maxLineBytes / 1024 / 1024} MiB` });
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** `whole`: the line has its end. One without may be in the middle of being written. */
function parse(line: number, bytes: Buffer, whole: boolean): Line | null {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { line, why: whole ? "it is not UTF-8" : unfinished };
  }
  if (text.trim() === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { line, value: value as Record<string, unknown> };
    return { line, why: "it is no JSON object" };
  } catch {
    return { line, why: whole ? "it is not JSON" : unfinished };
  }
}

const unfinished = "it has no end: it is being written, or was cut off";
