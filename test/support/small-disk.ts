import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "./environments.ts";

/** Why a test of a full disk cannot run here; null where it can. */
export const noSmallDisk: string | null = tryMount();

function tryMount(): string | null {
  if (process.platform !== "linux") return "a small disk is made with tmpfs, which only Linux has";
  if (process.getuid?.() !== 0) return "mounting a small disk takes root";
  try {
    execFileSync("unshare", ["-m", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/mnt"], { stdio: "ignore" });
    return null;
  } catch {
    return "this system lets nobody mount a tmpfs";
  }
}

export type SmallDisk = {
  dir: string;
  /** Takes what space is left, but for so many bytes. */
  fill(left?: number): void;
  /** Gives the taken space back. */
  free(): void;
  readOnly(on: boolean): void;
};

/** A file system of its own, of so many KiB, gone when the test is over. */
export function smallDisk(kib: number): SmallDisk {
  const dir = temporaryFolder();
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${kib}k`, "tmpfs", dir]);
  onTestFinished(() => void execFileSync("umount", ["-l", dir]));
  const filler = join(dir, "filler");
  return {
    dir,
    fill(left = 0) {
      const { available } = spaceOf(dir);
      writeFileSync(filler, Buffer.alloc(Math.max(0, available - left)));
    },
    free: () => rmSync(filler, { force: true }),
    readOnly: (on) => void execFileSync("mount", ["-o", `remount,${on ? "ro" : "rw"}`, dir]),
  };
}

function spaceOf(dir: string): { available: number } {
  const [, line = ""] = execFileSync("df", ["-k", "--output=avail", dir], { encoding: "utf8" }).trim().split("\n");
  return { available: Number(line.trim()) * 1_024 };
}
