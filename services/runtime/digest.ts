import { createHash } from "node:crypto";
import { configure } from "safe-stable-stringify";

const canonical = configure({ deterministic: true, bigint: false, strict: true });

/** Canonical JSON: keys sorted at every level, absent members left out. */
export function canonicalJson(value: unknown): string {
  return canonical(value) ?? "null";
}

/** SHA-256 of the canonical JSON of a parsed command, lower-case hex (decision 15). */
export function payloadDigest(value: unknown): string {
  return measuredDigest(value).digest;
}

export type MeasuredDigest = { digest: string; bytes: number };

const known = new WeakMap<object, MeasuredDigest>();

/** What was worked out elsewhere, off the main thread, of a value that nobody changes. */
export function rememberDigest(value: object, measured: MeasuredDigest): void {
  known.set(value, measured);
}

/** The same with the size of what was digested: bytes of UTF-8. */
export function measuredDigest(value: unknown): MeasuredDigest {
  const before = typeof value === "object" && value !== null ? known.get(value) : undefined;
  if (before !== undefined) return before;
  if (isImport(value)) return importDigest(value);
  return measured(Buffer.from(canonicalJson(value)));
}

type Import = { type: "thread.import"; import: object };

function isImport(value: unknown): value is Import {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    value.type === "thread.import" &&
    "import" in value &&
    Object.keys(value).length === 2
  );
}

/**
 * An import is asked for twice, as a command and as what it imports, and may be large: it is written out once for both.
 * The canonical form of the command is that of the import between two of its own members.
 */
function importDigest(command: Import): MeasuredDigest {
  const json = Buffer.from(canonicalJson(command.import));
  if (!known.has(command.import)) known.set(command.import, measured(json));
  return measured(Buffer.from('{"import":'), json, Buffer.from(',"type":"thread.import"}'));
}

function measured(...parts: Buffer[]): MeasuredDigest {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const part of parts) {
    hash.update(part);
    bytes += part.length;
  }
  return { digest: hash.digest("hex"), bytes };
}
