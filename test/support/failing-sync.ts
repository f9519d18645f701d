import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Fails every sync of a process while the named file is there. */
const source = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int broken(void) { const char *flag = getenv("BROKEN_DISK"); return flag != NULL && access(flag, F_OK) == 0; }
#define SYNC(name) \\
  int name(int fd) { \\
    if (broken()) { errno = EIO; return -1; } \\
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, #name); \\
    return real(fd); \\
  }
SYNC(fsync)
SYNC(fdatasync)
`;

export type FailingSync = { env: Record<string, string>; breakDisk(): void; mendDisk(): void; remove(): void };

/** A library that makes a disk's syncs fail, to be loaded into a process of its own. A string says why there is none. */
export function failingSync(): FailingSync | string {
  if (process.platform !== "linux") return "it is done by preloading a library, which is written for Linux";
  const dir = mkdtempSync(join(tmpdir(), "ropewalk-sync-"));
  const [library, flag] = [join(dir, "sync.so"), join(dir, "broken")];
  try {
    writeFileSync(join(dir, "sync.c"), source);
    execFileSync("cc", ["-shared", "-fPIC", "-o", library, join(dir, "sync.c"), "-ldl"], { stdio: "ignore" });
  } catch {
    rmSync(dir, { recursive: true });
    return "there is no C compiler";
  }
  return {
    env: { LD_PRELOAD: library, BROKEN_DISK: flag },
    breakDisk: () => writeFileSync(flag, ""),
    mendDisk: () => rmSync(flag, { force: true }),
    remove: () => rmSync(dir, { recursive: true }),
  };
}
