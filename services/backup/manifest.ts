import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BackupManifest, type BackupView, backupFormat, backupVersion } from "../../schemas/backup.ts";
import { payloadDigest } from "../runtime/digest.ts";
import { refuse } from "../runtime/refused.ts";
import { writeWhole } from "../runtime/whole-file.ts";

const manifestName = "manifest.json";
export const storeName = "ropewalk.db";

/** The manifest with its digest, which stands for all else that it says. */
export const sealed = (content: Omit<BackupManifest, "digest">): BackupManifest => ({ ...content, digest: payloadDigest(content) });

/** Written last: a backup without it is none. */
export function writeManifest(folder: string, content: Omit<BackupManifest, "digest">): BackupManifest {
  const manifest = sealed(content);
  writeWhole(join(folder, manifestName), `${JSON.stringify(manifest, null, 1)}\n`);
  return manifest;
}

/** Throws Refused: `not_a_backup`, `backup_newer`, `backup_damaged`. */
export function readManifest(folder: string): BackupManifest {
  let text: string;
  try {
    text = readFileSync(join(folder, manifestName), "utf8");
  } catch (error) {
    return refuse(
      "invalid_request",
      "not_a_backup",
      `${folder} is no backup: its ${manifestName} cannot be read (${(error as NodeJS.ErrnoException).code ?? "no file"})`,
      "Name the folder that ropewalk backup has made, which holds a manifest.json.",
    );
  }
  const value = asJson(folder, text);
  const { format, version } = value;
  if (format !== backupFormat)
    refuse("invalid_request", "not_a_backup", `${folder} is no backup of ropewalk`, "Name a folder that ropewalk backup has made.");
  if (typeof version === "number" && version > backupVersion)
    refuse(
      "invalid_request",
      "backup_newer",
      `${folder} is a backup of version ${version}, this ropewalk reads up to ${backupVersion}`,
      "Restore it with the ropewalk that made it, or a newer one: npm i -g ropewalk@latest",
    );
  const parsed = BackupManifest.safeParse(value);
  const issue = parsed.success ? null : parsed.error.issues[0];
  if (!parsed.success) return damaged(folder, `${issue?.path.join(".") || manifestName}: ${issue?.message ?? "malformed"}`);
  const { digest, ...content } = parsed.data;
  if (payloadDigest(content) !== digest) return damaged(folder, "what its manifest says is not what was written");
  return parsed.data;
}

/** The same; null for what is no whole backup. */
export function manifestIn(folder: string): BackupManifest | null {
  try {
    return readManifest(folder);
  } catch {
    return null;
  }
}

export const viewOf = (path: string, { createdAt, commit, files }: BackupManifest): BackupView => ({
  path,
  createdAt,
  commit,
  bytes: files.reduce((sum, file) => sum + file.bytes, 0),
});

export function damaged(folder: string, why: string): never {
  return refuse(
    "invalid_request",
    "backup_damaged",
    `the backup ${folder} is damaged: ${why}`,
    "Use another backup; nothing was restored.",
  );
}

function asJson(folder: string, text: string): { format?: unknown; version?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Told as what is no object.
  }
  return damaged(folder, `its ${manifestName} is no JSON object`);
}
