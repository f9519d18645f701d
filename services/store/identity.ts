import { readFileSync, statSync } from "node:fs";
import type { IncarnationId } from "../../schemas/ids.ts";
import { StoreFailure } from "../runtime/ports/store.ts";
import { systemIdentifiers } from "../runtime/system-identifiers.ts";
import { type Openings, OpeningsFile } from "./openings.ts";
import { parseOrFail } from "./set-aside.ts";
import type { Statements } from "./statements.ts";

/**
 * A store knows that it is a copy (links.md, invariant 4). It records the machine, its own file's identity and how often it
 * was opened; a file beside it counts the openings too, and has the newest commit that was seen. When any of these tells of
 * another place or a later life than the store itself remembers, it was copied or restored: it starts as a new incarnation,
 * which its peers are told.
 */
type Identity = { machine: string; file: string; openings: number };

export class StoreIdentity {
  readonly incarnation: IncarnationId;
  /** What this store was when it was found, at this opening, to be a copy; null otherwise. */
  readonly previous: IncarnationId | null;
  readonly #statements: Statements;
  readonly #beside: OpeningsFile;

  /** Compares the store with what it remembers of itself and settles which incarnation it is. Once per opening. */
  constructor(statements: Statements, dir: string, file: string, lastCommit: number) {
    this.#statements = statements;
    const before = this.#get("incarnation") as IncarnationId | undefined;
    const remembered = this.#remembered();
    const beside = OpeningsFile.read(dir);
    const known = beside === "unreadable" ? null : (beside ?? { openings: 0, commit: 0 });
    const here = { machine: machineId(), file: fileIdentity(file) };
    const same =
      remembered !== null &&
      known !== null &&
      remembered.machine === here.machine &&
      remembered.file === here.file &&
      isHonest(remembered, known, lastCommit);
    const openings = Math.max(remembered?.openings ?? 0, known?.openings ?? 0) + 1;
    this.incarnation = same && before !== undefined ? before : systemIdentifiers.next("inc");
    this.previous = before === undefined || before === this.incarnation ? null : before;
    statements.transaction(() => {
      this.#set("identity", JSON.stringify({ ...here, openings } satisfies Identity));
      this.#set("incarnation", this.incarnation);
    });
    this.#beside = new OpeningsFile(dir, { openings, commit: lastCommit });
  }

  noteCommit(commit: number): void {
    this.#beside.note(commit);
  }

  close(): void {
    this.#beside.close();
  }

  #remembered(): Identity | null {
    const text = this.#get("identity");
    return text === undefined ? null : parseOrFail<Identity>("what the store remembers of itself", text);
  }

  #get(key: string): string | undefined {
    return this.#statements.get<{ value: string }>("select value from meta where key = ?", key)?.value;
  }

  #set(key: string, value: string): void {
    this.#statements.run("insert into meta values (?, ?) on conflict do update set value = excluded.value", key, value);
  }
}

/** One opening behind: the process died between the two writes of an opening. Anything else is another life's. */
function isHonest(remembered: Identity, beside: Openings, lastCommit: number): boolean {
  return (beside.openings === remembered.openings || beside.openings === remembered.openings - 1) && beside.commit <= lastCommit;
}

/**
 * A folder that had a store, and has none: starting with an empty one would forget what peers and people rely on.
 * Throws `store_damaged`.
 */
export function refuseLostStore(dir: string, file: string): void {
  const beside = OpeningsFile.read(dir);
  if (beside === null || beside === "unreadable" || beside.commit === 0) return;
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > 0) return;
  throw new StoreFailure(
    "store_damaged",
    `${file} is empty or gone, although ${beside.commit} commits were made`,
    `Restore a backup; or, to begin with an empty store, remove the file "openings" beside it.`,
  );
}

/** The system's own id, where it has one. A host's name is none: it changes with the network. */
function machineId(): string {
  for (const file of ["/etc/machine-id", "/var/lib/dbus/machine-id"]) {
    try {
      const id = readFileSync(file, "utf8").trim();
      if (id !== "") return id;
    } catch {
      // not this kind of system
    }
  }
  return "";
}

/**
 * Inode and time of birth: they stay with a file through restarts of the machine, and no copy has both. Where no birth is
 * known, the device stands in for it, which may be numbered otherwise after a restart: then a store takes itself for a copy.
 */
function fileIdentity(file: string): string {
  const { ino, birthtimeNs, dev } = statSync(file, { bigint: true });
  return birthtimeNs > 0n ? `${ino}:${birthtimeNs}` : `${ino}@${dev}`;
}
