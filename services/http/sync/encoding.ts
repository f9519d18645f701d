import {
  type BrotliCompress,
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  type Gzip,
  gzip,
  type ZstdCompress,
  zstdCompress,
} from "node:zlib";

/** How a body is compressed; null: as it stands. */
export type Encoding = "br" | "zstd" | "gzip" | null;

/** Best first, for equal wishes of the client. */
const known = ["br", "zstd", "gzip"] as const;

/** What a client takes, by its `Accept-Encoding`; without the header: nothing but plain text. */
export function encodingFor(accept: string | undefined): Encoding {
  if (accept === undefined) return null;
  const wishes = new Map(
    accept.split(",").map((part) => {
      const [name = "", ...parameters] = part.trim().toLowerCase().split(";");
      const q = parameters.map((p) => /^\s*q=([\d.]+)\s*$/.exec(p)?.[1]).find((value) => value !== undefined);
      return [name.trim(), q === undefined ? 1 : Number(q)] as const;
    }),
  );
  const wish = (name: string) => wishes.get(name) ?? wishes.get("*") ?? 0;
  const best = known.reduce((a, b) => (wish(b) > wish(a) ? b : a));
  return wish(best) > 0 ? best : null;
}

/** Below this a compressed body is not smaller. */
const worthwhileBytes = 200;
/** Brotli's best is slow: larger bodies get a quality that keeps opening a thread quick. */
const bestBytes = 96 * 1024;

/** A whole body. Rests on Node's thread pool, not on the event loop. */
export function compressed(body: Buffer, encoding: Encoding): Promise<{ bytes: Buffer; encoding: Encoding }> {
  if (encoding === null || body.length < worthwhileBytes) return Promise.resolve({ bytes: body, encoding: null });
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, bytes: Buffer) => (error === null ? resolve({ bytes, encoding }) : reject(error));
    const { BROTLI_PARAM_MODE, BROTLI_MODE_TEXT, BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
    if (encoding === "br") {
      const quality = body.length <= bestBytes ? 11 : 6;
      const params = { [BROTLI_PARAM_MODE]: BROTLI_MODE_TEXT, [BROTLI_PARAM_QUALITY]: quality, [BROTLI_PARAM_SIZE_HINT]: body.length };
      brotliCompress(body, { params }, done);
    } else if (encoding === "zstd") zstdCompress(body, { params: { [constants.ZSTD_c_compressionLevel]: 9 } }, done);
    else gzip(body, { level: 9 }, done);
  });
}

/** Turns lines into bytes for one connection. */
export type LineEncoder = {
  /** Everything given so far can be read from the bytes given out so far. One call at a time. */
  encode(text: string): Promise<Uint8Array>;
  end(): Promise<Uint8Array>;
  /** Lets go of what it holds. */
  close(): void;
};

/** One context for the whole connection, flushed with every message: what was told before makes the next one small. */
export function lineEncoder(encoding: Encoding): LineEncoder {
  return encoding === null ? plain : new Compressor(encoding);
}

const nothing = new Uint8Array();
const plain: LineEncoder = {
  encode: async (text) => new TextEncoder().encode(text),
  end: async () => nothing,
  close() {},
};

/** Connections that hold a context now. */
let open = 0;
/** While few follow, each is worth the best compression (some milliseconds of a pool thread for a large message). */
const fewConnections = 32;

class Compressor implements LineEncoder {
  readonly #stream: BrotliCompress | Gzip | ZstdCompress;
  readonly #flush: number;
  #out: Buffer[] = [];
  #failed: Error | null = null;

  constructor(encoding: Exclude<Encoding, null>) {
    this.#stream = streamOf(encoding);
    this.#flush = flushOf[encoding];
    open += 1;
    this.#stream.once("close", () => {
      open -= 1;
    });
    this.#stream.on("data", (bytes: Buffer) => this.#out.push(bytes));
    this.#stream.on("error", (error) => {
      this.#failed = error;
    });
  }

  encode(text: string): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#stream.write(text);
      this.#stream.flush(this.#flush, () => (this.#failed === null ? resolve(this.#taken()) : reject(this.#failed)));
    });
  }

  end(): Promise<Uint8Array> {
    return new Promise((resolve) => {
      this.#stream.once("close", () => resolve(this.#taken()));
      this.#stream.end();
    });
  }

  close(): void {
    this.#stream.destroy();
  }

  #taken(): Buffer {
    const taken = Buffer.concat(this.#out);
    this.#out = [];
    return taken;
  }
}

/** All out, and the context kept: zlib's usual flush of a gzip stream forgets it. */
const flushOf = { br: constants.BROTLI_OPERATION_FLUSH, zstd: constants.ZSTD_e_flush, gzip: constants.Z_SYNC_FLUSH };

/** Small windows: a live connection repeats what it said a moment ago, and there may be thousands of them. */
function streamOf(encoding: Exclude<Encoding, null>): BrotliCompress | Gzip | ZstdCompress {
  const { BROTLI_PARAM_MODE, BROTLI_MODE_TEXT, BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN } = constants;
  if (encoding === "br") {
    const params = {
      [BROTLI_PARAM_MODE]: BROTLI_MODE_TEXT,
      [BROTLI_PARAM_QUALITY]: open < fewConnections ? 11 : 5,
      [BROTLI_PARAM_LGWIN]: 17,
    };
    return createBrotliCompress({ params });
  }
  if (encoding === "zstd")
    return createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 6, [constants.ZSTD_c_windowLog]: 17 } });
  return createGzip({ level: 9 });
}
