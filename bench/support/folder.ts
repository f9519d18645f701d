import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs `work` with a folder that is gone afterwards. `ROPEWALK_BENCH_DIR` chooses the disk that is measured. */
export async function withFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(process.env.ROPEWALK_BENCH_DIR ?? tmpdir(), "ropewalk-bench-"));
  try {
    return await work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
