import type { BackupMade, BackupProgress, BackupRequest, BackupView } from "../../../schemas/backup.ts";

/** Backups of an environment that runs (decision 0112). */
export interface Backups {
  /**
   * Makes one, without holding anybody up; one at a time. Throws CommandRefused: `backup_running`, `backup_unwritable`,
   * `disk_full`, …
   */
  make(options?: BackupRequest & { onProgress?: (news: BackupProgress) => void }): Promise<BackupMade>;
  /** Those that are there, the oldest first. */
  list(): BackupView[];
}
