import { readFileSync, statSync } from "node:fs";
import type { IncarnationId } from "../../schemas/ids.ts";
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
  readonly #beside: OpeningsFile;

  /** Settles which incarnation the store is, and counts the opening. Once per opening. */
  constructor(statements: Statements, dir: string, file: string, lastCommit: number) {
    const remembered = rememberedBy(statements);
    const beside = OpeningsFile.read(dir);
    const isCopy = remembered !== null && !isHere(remembered, beside, file, lastCommit);
    const before = get(statements, "incarnation") as IncarnationId | undefined;
    this.incarnation = before === undefined || isCopy ? systemIdentifiers.next("inc") : before;
    this.previous = isCopy ? (before ?? null) : null;
    const counted = beside === null || beside === "unreadable" ? 0 : beside.openings;
    const now: Identity = { ...here(file), openings: Math.max(remembered?.openings ?? 0, counted) + 1 };
    statements.transaction(() => {
      set(statements, "identity", JSON.stringify(now));
      set(statements, "incarnation", this.incarnation);
    });
    this.#beside = new OpeningsFile(dir, file, { openings: now.openings, commit: lastCommit });
  }

  noteCommit(commit: number): void {
    this.#beside.note(commit);
  }

  /** After the store's own end, which may write its file once more. */
  close(commit: number): void {
    this.#beside.note(commit);
    this.#beside.close();
  }
}

/** True for a store that remembers another place or an earlier life than the ones that it is found in. */
export function isCopied(statements: Statements, beside: Openings | "unreadable" | null, file: string, lastCommit: number): boolean {
  const remembered = rememberedBy(statements);
  return remembered !== null && !isHere(remembered, beside, file, lastCommit);
}

/**
 * One opening behind: the process died between the two writes of an opening, the first one perhaps, before there was a
 * file. Anything else is another life's.
 */
function isHere(remembered: Identity, beside: Openings | "unreadable" | null, file: string, lastCommit: number): boolean {
  if (beside === "unreadable") return false;
  const { machine, file: identity } = here(file);
  const { openings, commit } = beside ?? { openings: 0, commit: 0 };
  return (
    remembered.machine === machine &&
    remembered.file === identity &&
    (openings === remembered.openings || openings === remembered.openings - 1) &&
    commit <= lastCommit
  );
}

function rememberedBy(statements: Statements): Identity | null {
  const text = get(statements, "identity");
  return text === undefined ? null : parseOrFail<Identity>("what the store remembers of itself", text);
}

const get = (statements: Statements, key: string) => statements.get<{ value: string }>("select value from meta where key = ?", key)?.value;
const set = (statements: Statements, key: string, value: string) =>
  statements.run("insert into meta values (?, ?) on conflict do update set value = excluded.value", key, value);

const here = (file: string) => ({ machine: machineId(), file: fileIdentity(file) });

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
