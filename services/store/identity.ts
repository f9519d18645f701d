import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { IncarnationId } from "../../schemas/ids.ts";
import { systemIdentifiers } from "../runtime/system-identifiers.ts";

/**
 * A store knows that it is a copy (links.md, invariant 4). It records the machine and its own file's identity, and counts
 * its openings both inside and in a file beside it, which also keeps the newest commit that was seen. When any of these
 * tells of a later life than the store itself remembers, it was copied or restored: it starts as a new incarnation, which
 * its peers are told.
 */
type Identity = { machine: string; device: string; inode: string; openings: number };

/** What the file beside the store remembers; it is written after the store, so it can only be behind an honest one. */
type Beside = { openings: number; commit: number };

function machineId(): string {
  for (const file of ["/etc/machine-id", "/var/lib/dbus/machine-id"]) {
    try {
      const id = readFileSync(file, "utf8").trim();
      if (id !== "") return id;
    } catch {
      // not this kind of system
    }
  }
  return hostname();
}

export class StoreIdentity {
  readonly incarnation: IncarnationId;
  /** The incarnation that this store was before it was found to be a copy. */
  readonly previous: IncarnationId | null;
  readonly #besidePath: string;
  readonly #openings: number;
  #writtenAt = 0;

  /** Compares the store with what it remembers of itself and settles which incarnation it is. Once per opening. */
  constructor(db: DatabaseSync, dir: string, file: string, lastCommit: number) {
    this.#besidePath = join(dir, "openings");
    const get = (key: string) => (db.prepare("select value from meta where key = ?").get(key) as { value: string } | undefined)?.value;
    const stat = statSync(file, { bigint: true });
    const beside = readBeside(this.#besidePath);
    const known = get("identity");
    const remembered = known === undefined ? null : (JSON.parse(known) as Identity);
    const now: Identity = {
      machine: machineId(),
      device: String(stat.dev),
      inode: String(stat.ino),
      openings: Math.max(remembered?.openings ?? 0, beside?.openings ?? 0) + 1,
    };
    const same =
      remembered !== null &&
      beside !== null &&
      remembered.machine === now.machine &&
      remembered.device === now.device &&
      remembered.inode === now.inode &&
      // One behind: the process died between the two writes of an opening.
      (beside.openings === remembered.openings || beside.openings === remembered.openings - 1) &&
      beside.commit <= lastCommit;
    const before = (get("incarnation") as IncarnationId | undefined) ?? null;
    this.incarnation = same && before !== null ? before : systemIdentifiers.next("inc");
    this.previous = before !== this.incarnation ? before : null;
    this.#openings = now.openings;
    const set = db.prepare("insert into meta values (?, ?) on conflict do update set value = excluded.value");
    db.exec("begin immediate");
    set.run("identity", JSON.stringify(now));
    set.run("incarnation", this.incarnation);
    db.exec("commit");
    this.#write(lastCommit, true);
  }

  /** Notes the newest commit beside the store, at most once a second. */
  noteCommit(commit: number, now: number): void {
    if (now - this.#writtenAt < 1_000) return;
    this.#writtenAt = now;
    this.#write(commit, false);
  }

  /** The last note of this opening. */
  close(commit: number): void {
    this.#write(commit, true);
  }

  #write(commit: number, sync: boolean): void {
    const temporary = `${this.#besidePath}.new`;
    const fd = openSync(temporary, "w", 0o600);
    try {
      writeFileSync(fd, `${this.#openings} ${commit}\n`);
      if (sync) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, this.#besidePath);
  }
}

function readBeside(path: string): Beside | null {
  try {
    const [openings = Number.NaN, commit = Number.NaN] = readFileSync(path, "utf8").trim().split(" ").map(Number);
    return Number.isInteger(openings) && Number.isInteger(commit) ? { openings, commit } : null;
  } catch {
    return null;
  }
}
