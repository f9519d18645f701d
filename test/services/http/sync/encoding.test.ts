import {
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createZstdDecompress,
  gunzipSync,
  zstdDecompressSync,
} from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compressed, encodingFor, lineEncoder } from "../../../../services/http/sync/encoding.ts";

test("a client is answered in the best encoding that it takes, and plainly when it says nothing", () => {
  const table: [string | undefined, ReturnType<typeof encodingFor>][] = [
    [undefined, null],
    ["", null],
    ["identity", null],
    ["gzip", "gzip"],
    ["gzip, deflate, br, zstd", "br"],
    ["zstd, gzip", "zstd"],
    ["br;q=0.1, gzip;q=0.9", "gzip"],
    ["br;q=0, zstd;q=0", null],
    ["*", "br"],
    ["*;q=0.5, gzip", "gzip"],
    ["BR", "br"],
    ["br;q=nonsense", "br"],
  ];
  for (const [accept, encoding] of table) expect(encodingFor(accept), String(accept)).toBe(encoding);
});

const decoders = { br: createBrotliDecompress, zstd: createZstdDecompress, gzip: createGunzip };
const decode = { br: brotliDecompressSync, zstd: zstdDecompressSync, gzip: gunzipSync };

test.each(["br", "zstd", "gzip"] as const)("a whole body by %s is read as it was, and a tiny one goes as it stands", async (encoding) => {
  const body = Buffer.from(JSON.stringify(Array.from({ length: 20_000 }, (_, n) => `line ${n}`)));
  const made = await compressed(body, encoding);
  expect(made.encoding).toBe(encoding);
  expect(decode[encoding](made.bytes).equals(body)).toBe(true);
  expect(made.bytes.length).toBeLessThan(body.length / 2);
  expect(await compressed(Buffer.from("{}"), encoding)).toEqual({ bytes: Buffer.from("{}"), encoding: null });
});

test.each(["br", "zstd", "gzip"] as const)(
  "every message of a connection by %s can be read when it is there, whatever its size, before the next one is made",
  async (encoding) => {
    const word = fc.oneof(
      fc.string({ maxLength: 50 }),
      fc.integer({ min: 1, max: 200_000 }).map((n) => `${n} `.repeat(n / 8)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 8 }), async (texts) => {
        const encoder = lineEncoder(encoding);
        const decoder = decoders[encoding]();
        let read = "";
        decoder.setEncoding("utf8").on("data", (text: string) => {
          read += text;
        });
        let told = "";
        for (const text of texts.map((t) => `${JSON.stringify(t)}\n`)) {
          told += text;
          decoder.write(await encoder.encode(text));
          await expect.poll(() => read.length, { interval: 1 }).toBe(told.length);
        }
        decoder.end(await encoder.end());
        await new Promise((resolve) => decoder.once("close", resolve));
        expect(read).toBe(told);
      }),
      { numRuns: 15 },
    );
  },
);

test("what was told before makes the next message small, in every encoding", async () => {
  for (const encoding of ["br", "zstd", "gzip"] as const) {
    const encoder = lineEncoder(encoding);
    const text = `${Array.from({ length: 200 }, (_, n) => (n * 7_919).toString(36)).join("-")}\n`;
    const [first, again] = [await encoder.encode(text), await encoder.encode(text)];
    expect(again.length, encoding).toBeLessThan(first.length / 5);
    encoder.close();
  }
});
