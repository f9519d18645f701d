import { z } from "zod";
import { PublicCommand } from "../../schemas/command.ts";
import { CommandId } from "../../schemas/ids.ts";
import { type MeasuredDigest, measuredDigest } from "./digest.ts";
import { parseBody } from "./json-text.ts";

/** A command as text, read and checked, with the digests that deciding it needs; or why it cannot be taken. */
export type ReadCommand =
  | { ok: true; id: CommandId | null; command: PublicCommand; digest: string; importDigest: MeasuredDigest | null }
  | { ok: false; id: CommandId | null; reason: string; message: string };

const Envelope = z.strictObject({ id: CommandId.optional(), command: z.unknown() });

/** Reads `{"id": …, "command": …}`, the form in which clients send; the id may be left out. Pure, so that a worker can do it. */
export function readCommandText(json: string | Uint8Array): ReadCommand {
  const body = parseBody(json);
  if (!body.ok) return { ok: false, id: null, reason: body.reason, message: body.message };
  const envelope = Envelope.safeParse(body.value);
  if (!envelope.success) return { ok: false, id: null, ...whatIsWrong(envelope.error, "body") };
  const id = envelope.data.id ?? null;
  const command = PublicCommand.safeParse(envelope.data.command);
  if (!command.success) return { ok: false, id, ...whatIsWrong(command.error, "command") };
  const { data } = command;
  const large = importedBy(data);
  const importDigest = large === null ? null : measuredDigest(large);
  return { ok: true, id, command: data, digest: measuredDigest(data).digest, importDigest };
}

/** What is large in a command, and digested apart from it. */
export function importedBy(command: PublicCommand): object | null {
  if (command.type === "thread.import") return command.import;
  return command.type === "thread.import_bundle" ? command.bundle.records : null;
}

/** The first few faults by their paths; a limit of the contract is named as one. */
export function whatIsWrong(error: z.ZodError, top: string): { reason: string; message: string } {
  const message = error.issues
    .slice(0, 3)
    .map((i) => `${i.path.map(String).join(".") || top}: ${i.message}`)
    .join("; ");
  return { reason: error.issues.some((i) => i.code === "too_big") ? "limit_exceeded" : "malformed", message };
}
