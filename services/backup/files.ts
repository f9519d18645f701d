import { createHash } from "node:crypto";
import { constants, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";

export type Measured = { bytes: number; sha256: string };

const chunkBytes = 1024 * 1024;

/**
 * Copies a plain file, on the disk before this resolves, readable by its owner alone. What is measured is what was written.
 * A link is not followed, and nothing that is there is written over. Throws what the system says.
 */
export async function copyMeasured(from: string, to: string): Promise<Measured> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  const target = await open(to, "wx", 0o600);
  try {
    const measured = await read(from, async (chunk) => void (await target.writeFile(chunk)));
    await target.sync();
    return measured;
  } finally {
    await target.close();
  }
}

/** Size and SHA-256 of a plain file; a link is not followed. Throws what the system says. */
export const measure = (path: string): Promise<Measured> => read(path, async () => {});
/** The same of a file that another program has written: it is on the disk then. */
export const measureSynced = (path: string): Promise<Measured> => read(path, async () => {}, true);

async function read(path: string, each: (chunk: Buffer) => Promise<void>, sync = false): Promise<Measured> {
  const source = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    if (!(await source.stat()).isFile()) throw new Error(`${path} is no plain file`);
    if (sync) await source.sync();
    const hash = createHash("sha256");
    const buffer = Buffer.alloc(chunkBytes);
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await source.read(buffer, 0, chunkBytes);
      if (bytesRead === 0) return { bytes, sha256: hash.digest("hex") };
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      bytes += bytesRead;
      await each(chunk);
    }
  } finally {
    await source.close();
  }
}
