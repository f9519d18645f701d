import { z } from "zod";
import { BackupMade, BackupProgress, BackupRequest, BackupView } from "../../../schemas/backup.ts";
import { Refusal } from "../../../schemas/refusal.ts";
import { CommandRefused } from "../../runtime/environment-api.ts";
import type { Backups } from "../../runtime/ports/backups.ts";
import { readJson } from "../body.ts";
import { parsed } from "../input.ts";
import { type Route, route } from "../route.ts";

/** How far a backup is, and then, last, what came of it. */
const BackupLine = z.discriminatedUnion("type", [
  BackupProgress,
  z.object({ type: z.literal("made"), backup: BackupMade }),
  z.object({ type: z.literal("failed"), refusal: Refusal }),
]);
export type BackupLine = z.infer<typeof BackupLine>;

const maxRequestBytes = 64 * 1024;
/** Of the same step. */
const tellEveryMs = 200;
/** A long step is told again, so that nobody takes the connection for dead. */
const beatMs = 10_000;

/** What only this machine's user may do: a backup holds the environment's keys. On the socket alone. */
export function backupRoutes(backups: Backups, onError: (error: Error) => void): Route[] {
  const about = "environment";
  const access = "writes_environment";
  return [
    route({
      method: "GET",
      path: "/backups",
      name: "listBackups",
      about,
      summary: "Backups of this environment that are still where they were put, the oldest first. On the unix socket only.",
      access,
      answer: { kind: "json", schema: z.object({ backups: z.array(BackupView) }) },
      handle: () => ({ backups: backups.list() }),
    }),
    route({
      method: "POST",
      path: "/backups",
      name: "makeBackup",
      about,
      summary:
        "Makes a backup, without holding anybody up: how far it is, a line of JSON each, then what came of it. On the unix socket only.",
      access,
      body: BackupRequest,
      answer: { kind: "lines", schema: BackupLine },
      async handle({ request }) {
        const asked = parsed(BackupRequest, await readJson(request, maxRequestBytes), "body");
        const headers = { "content-type": "application/x-ndjson", "transfer-encoding": "chunked", "cache-control": "no-store" };
        return new Response(made(backups, asked, onError), { headers });
      },
    }),
  ];
}

/** Goes on to its end when nobody listens any more. */
function made(backups: Backups, asked: BackupRequest, onError: (error: Error) => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isOpen = true;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const tell = (line: BackupLine) => {
        if (isOpen) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
      };
      let last: { news: BackupProgress; at: number } | null = null;
      const onProgress = (news: BackupProgress) => {
        const at = performance.now();
        if (news.step === last?.news.step && at - last.at < tellEveryMs) return;
        last = { news, at };
        tell(news);
      };
      const beat = setInterval(() => last !== null && tell(last.news), beatMs);
      void backups
        .make({ ...asked, onProgress })
        .then((backup) => tell({ type: "made", backup }))
        .catch((error: unknown) => tell({ type: "failed", refusal: refusalOf(error, onError) }))
        .then(() => {
          clearInterval(beat);
          if (isOpen) controller.close();
        });
    },
    cancel() {
      isOpen = false;
    },
  });
}

function refusalOf(error: unknown, onError: (error: Error) => void): Refusal {
  if (error instanceof CommandRefused) return error.refusal;
  const fault = error instanceof Error ? error : new Error(String(error));
  onError(fault);
  return {
    code: "orchestration_error",
    reason: "backup_failed",
    message: `the backup could not be made: ${fault.message}`,
    hint: "Nothing is left of it. Put that right, then try again; see also ropewalk doctor.",
  };
}
