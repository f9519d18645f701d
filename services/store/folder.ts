import { mkdirSync, realpathSync, statfsSync } from "node:fs";
import { StoreFailure } from "../runtime/ports/store.ts";
import { storeFailure } from "./failure.ts";

/** File-system type numbers, as the kernel gives them, on which SQLite's locks or syncs cannot be trusted. */
const networkTypes = new Map<number, string>([
  [0x6969, "NFS"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x517b, "SMB"],
  [0x01021997, "9P"],
  [0x65735546, "FUSE"],
  [0x47504653, "GPFS"],
  [0x0bd00bd0, "Lustre"],
  [0x5346414f, "AFS"],
  [0x73757245, "Coda"],
]);

/** Tells the type of the file system that a folder is on; a port, so that a test can say "NFS". */
export type FileSystemType = (folder: string) => number;
const fileSystemType: FileSystemType = (folder) => statfsSync(folder).type;

/** Makes the store's folder (mode 0700) and refuses network file systems. Returns its real path. */
export function prepareFolder(dir: string, typeOf: FileSystemType = fileSystemType): string {
  const { real, type } = lookAt(dir, typeOf);
  const network = networkTypes.get(type >>> 0);
  if (network !== undefined)
    throw new StoreFailure(
      "network_file_system",
      `${real} is on a network file system (${network}), where a store can be damaged without a sign`,
      "Put it on a local disk: --dir or ROPEWALK_DIR.",
    );
  return real;
}

function lookAt(dir: string, typeOf: FileSystemType): { real: string; type: number } {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const real = realpathSync(dir);
    return { real, type: typeOf(real) };
  } catch (cause) {
    const failure = storeFailure(cause, dir);
    if (failure instanceof StoreFailure && failure.reason !== "store_unwritable") throw failure;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StoreFailure("store_unwritable", `cannot make or reach the folder ${dir}: ${why}`, "Choose another folder with --dir.", {
      cause,
    });
  }
}
