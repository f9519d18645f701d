import { existsSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { BackupFile, BackupManifest, KeptRef } from "../../schemas/backup.ts";
import type { PurgePlace, PurgeRest } from "../../schemas/purge.ts";
import type { ContentStore } from "../runtime/ports/content.ts";
import type { Needle } from "../runtime/redaction/needle.ts";
import { searchFiles } from "./files.ts";
import { type Alone, StoreText } from "./store-text.ts";

export type BackupParts = {
  /** Folders of backups that are there, also of what is not whole. */
  places(): string[];
  /** Null for what is no whole backup. */
  manifestIn(folder: string): BackupManifest | null;
  writeManifest(folder: string, content: Omit<BackupManifest, "digest">): unknown;
  measure(path: string): Promise<Pick<BackupFile, "bytes" | "sha256">>;
  openContent(path: string): { content: ContentStore; close(): void };
  bundleText(
    repository: string,
    bundle: string,
    refs: readonly KeptRef[],
    needle: Needle,
    rewrite: boolean,
  ): Promise<{ isIn: boolean; commits: ReadonlyMap<string, string> }>;
  /** Told of each step that is done, so that tests can end the process there. */
  step(name: string): void;
};

const storeName = "ropewalk.db";
/** In a backup whose manifest is not what its files are, until a purge has come to its end. */
const markName = ".purging";
/** Below a backup's copy of the folder: what is not configuration. */
const ours = ["providers", "scratch", "logs"].map((name) => join("files", name));
const direct: Alone = async (work) => work();

/** Takes a text out of the backups that were made of an environment: their stores, files and bundles, and what seals them. */
export class BackupTexts {
  readonly #parts: BackupParts;

  constructor(parts: BackupParts) {
    this.#parts = parts;
  }

  get folders(): string[] {
    return this.#parts.places();
  }

  async look(needle: Needle): Promise<PurgePlace[]> {
    const found: PurgePlace[] = [];
    for (const folder of this.folders) {
      const count = await this.#work(folder, needle, false).catch(() => 1);
      if (count > 0) found.push({ what: "backup", name: folder, threadId: null, count });
    }
    return found;
  }

  /** Answers those that could not be rewritten. */
  async purge(needle: Needle): Promise<PurgeRest[]> {
    const left: PurgeRest[] = [];
    for (const folder of this.folders) {
      const rest = { what: "backup", name: folder, threadId: null, count: 1 };
      try {
        await this.#work(folder, needle, true);
        if ((await this.#work(folder, needle, false)) > 0)
          left.push({
            ...rest,
            why: "its configuration holds it",
            hint: "Take it out of the configuration, then make another backup and remove this one.",
          });
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        left.push({ ...rest, why: `it cannot be rewritten: ${why}`, hint: "Make another backup and remove this one." });
      }
    }
    return left;
  }

  /** In how many places it is, before. With `rewrite` it is taken out, and the manifest made again. */
  async #work(folder: string, needle: Needle, rewrite: boolean): Promise<number> {
    const manifest = this.#parts.manifestIn(folder);
    if (manifest === null || basename(folder).startsWith(".")) throw new Error("it is no whole backup");
    const mark = join(folder, markName);
    if (rewrite && !existsSync(mark)) {
      if ((await this.#work(folder, needle, false)) === 0) return 0;
      await this.#holdDamaged(folder, manifest);
      writeFileSync(mark, "", { mode: 0o600 });
      this.#parts.step("purge.backup_marked");
    }
    let count = 0;
    const successors = new Map<string, string>();
    for (const { path, bundle, refs } of manifest.repositories) {
      if (bundle === null) continue;
      const look = await this.#parts.bundleText(path, join(folder, bundle), refs, needle, rewrite);
      if (look.isIn) count += 1;
      for (const [old, fresh] of look.commits) successors.set(old, fresh);
    }
    if (rewrite) this.#parts.step("purge.backup_bundles_replaced");
    count += await this.#inStore(folder, needle, rewrite, successors);
    if (rewrite) this.#parts.step("purge.backup_store_replaced");
    count += await this.#inFiles(folder, needle, rewrite);
    if (rewrite) {
      this.#parts.step("purge.backup_files_replaced");
      await this.#seal(folder, manifest, successors);
      this.#parts.step("purge.backup_sealed");
      rmSync(mark, { force: true });
    }
    return count;
  }

  async #inStore(folder: string, needle: Needle, rewrite: boolean, successors: ReadonlyMap<string, string>): Promise<number> {
    const { content, close } = this.#parts.openContent(join(folder, storeName));
    try {
      const store = new StoreText(content, needle);
      const { found } = await store.look(direct);
      if (rewrite) {
        await store.replace(direct, successors);
        content.compact();
      }
      return found.filter((finding) => !finding.isMessage).length;
    } finally {
      close();
    }
  }

  async #inFiles(folder: string, needle: Needle, rewrite: boolean): Promise<number> {
    const skip = [join(folder, storeName), join(folder, "refs"), join(folder, "manifest.json")];
    const rewritten = rewrite ? ours.map((name) => join(folder, name)) : [];
    return (await searchFiles({ text: needle.text, roots: [folder], rewrite: rewritten, skip })).found.length;
  }

  /** What was damaged before is not sealed as if it were whole. */
  async #holdDamaged(folder: string, { files }: BackupManifest): Promise<void> {
    for (const { path, sha256 } of files)
      if ((await this.#parts.measure(join(folder, path))).sha256 !== sha256) throw new Error(`${path} is damaged`);
  }

  async #seal(folder: string, { digest: _old, ...manifest }: BackupManifest, successors: ReadonlyMap<string, string>): Promise<void> {
    const files: BackupFile[] = [];
    for (const { path } of manifest.files) files.push({ path, ...(await this.#parts.measure(join(folder, path))) });
    const repositories = manifest.repositories.map((repository) => ({
      ...repository,
      refs: repository.refs.map(({ ref, commit }) => ({ ref, commit: successors.get(commit) ?? commit })),
    }));
    this.#parts.writeManifest(folder, { ...manifest, files, repositories });
  }
}
