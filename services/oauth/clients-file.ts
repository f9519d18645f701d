import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ClientGrant, ClientResource } from "../../schemas/client.ts";
import { ClientId } from "../../schemas/ids.ts";
import { refusal } from "../../schemas/refusal.ts";
import { Digest, Timestamp } from "../../schemas/text.ts";
import { CommandRefused } from "../runtime/environment-api.ts";
import { writeWhole } from "../runtime/whole-file.ts";

const StoredToken = z.strictObject({
  /** The public half; the secret one is only here as the digest of the whole. */
  name: z.string().regex(/^[\w-]+$/),
  digest: Digest,
  issuedAt: Timestamp,
  expiresAt: Timestamp,
  usedAt: Timestamp.nullable(),
  resources: z.array(ClientResource).min(1),
  grant: ClientGrant,
});
export type StoredToken = z.infer<typeof StoredToken>;

const StoredClient = z.strictObject({
  id: ClientId,
  program: z.string(),
  redirectUris: z.array(z.string()).min(1),
  registeredAt: Timestamp,
  /** What the person called it last; null while nobody has let it in. */
  name: z.string().nullable(),
  tokens: z.array(StoredToken),
});
export type StoredClient = z.infer<typeof StoredClient>;

const ClientsFile = z.strictObject({ version: z.literal(1), clients: z.array(StoredClient) });

const clientsFile = (dir: string) => join(dir, "clients.json");

/** The programs of an environment's folder; none where there is no file. Throws CommandRefused for one that cannot be used. */
export function readClients(dir: string): StoredClient[] {
  const path = clientsFile(dir);
  const text = readOwnerOnly(path);
  if (text === null) return [];
  try {
    return ClientsFile.parse(JSON.parse(text)).clients;
  } catch {
    // What a parser says would quote the file.
    throw unusable(
      "clients_damaged",
      `${path} does not hold the programs that were let in`,
      `Restore it from a backup, or move it away: every program then has to be let in again (ropewalk client add).`,
    );
  }
}

/** Written whole or not at all, and on the disk before this returns: what was taken back stays taken back. */
export function writeClients(dir: string, clients: readonly StoredClient[]): void {
  const path = clientsFile(dir);
  try {
    writeWhole(path, `${JSON.stringify({ version: 1, clients }, null, 1)}\n`);
  } catch (error) {
    throw unusable("clients_unwritable", `${path} cannot be written: ${why(error)}`, "Check the folder's owner, rights and free space.");
  }
}

function readOwnerOnly(path: string): string | null {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw unusable("clients_unreadable", `${path} cannot be read: ${why(error)}`, "Make it readable for the user that runs ropewalk.");
  }
  try {
    const mode = fstatSync(fd).mode & 0o777;
    // Windows has no such bits; access there is the folder's business.
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      throw unusable("clients_too_open", `${path}: others can reach it (mode ${mode.toString(8)})`, `Run: chmod 600 ${path}`);
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

const why = (error: unknown) => (error instanceof Error ? error.message : String(error));
const unusable = (reason: string, message: string, hint: string) =>
  new CommandRefused(refusal("orchestration_error", reason, message, hint));
