import type { Link } from "../../schemas/link.ts";
import type { Move } from "../../schemas/move.ts";
import type { NeedKind } from "../../schemas/need.ts";
import type { Refusal } from "../../schemas/refusal.ts";
import type { Run } from "../../schemas/run.ts";
import type { Task } from "../../schemas/task.ts";
import type { ThreadStatus } from "../../schemas/thread.ts";
import type { ContextTransfer, ThreadRelationshipKind } from "../../schemas/transfer.ts";
import { oneLine } from "./terminal.ts";

/** Statuses as people read them (decision 49); `--json` has the contract's. */
export function transferWords(transfer: Pick<ContextTransfer, "status" | "resolution" | "error">, leftOut = 0): string {
  const { status, resolution, error } = transfer;
  switch (status) {
    case "pending":
      return "waiting";
    case "failed":
      return failed(error);
    case "superseded":
      return "replaced";
    case "consumed":
      return resolution === null ? "delivered" : `delivered, ${how(resolution.kind, leftOut)}`;
    case "resolved_native":
    case "resolved_portable":
      return resolution === null ? "ready" : how(resolution.kind, leftOut);
  }
}

function how(kind: NonNullable<ContextTransfer["resolution"]>["kind"], leftOut: number): string {
  return kind === "native_fork" ? "exact (native)" : `retold (${leftOut === 0 ? "nothing" : leftOut} left out)`;
}

export const relationshipWords: Record<ThreadRelationshipKind, string> = {
  fork: "fork",
  provider_handoff: "switch",
  merge_back: "merge back",
  subagent_spawn: "task",
  subagent_result: "result",
};

const runStatuses: Record<Exclude<Run["status"], "failed">, string> = {
  queued: "waits its turn",
  preparing: "getting ready",
  placing: "making its worktree",
  starting: "starting",
  running: "running",
  waiting: "waits for you",
  interrupting: "stopping",
  completed: "done",
  interrupted: "stopped",
  rolled_back: "taken back",
};
export function runWords({ status, error }: Pick<Run, "status" | "error">): string {
  return status === "failed" ? failed(error) : runStatuses[status];
}

const taskStatuses: Record<Exclude<Task["status"], "failed">, string> = {
  requested: "asked for",
  starting: "starting",
  running: "running",
  cancelling: "stopping",
  completed: "done",
  cancelled: "cancelled",
  interrupted: "stopped",
};
export function taskWords({ status, error, reason }: Pick<Task, "status" | "error" | "reason">): string {
  if (status === "failed") return failed(error);
  return status === "interrupted" && reason === "dismissed" ? "dismissed" : taskStatuses[status];
}

const threadStatuses: Record<ThreadStatus, string> = {
  idle: "idle",
  running: "running",
  departing: "on its way to another environment",
  departed: "moved away",
  deleted: "deleted",
};
/** `run` is the active run's status, where there is one. */
export function threadWords(status: ThreadStatus, run: Run["status"] | null, isArchived: boolean): string {
  const own = status === "running" && run !== null && run !== "failed" ? runStatuses[run] : threadStatuses[status];
  return isArchived ? `${own}, archived` : own;
}

const waits: Record<Move["waitsFor"], string> = {
  peer: "waits for the other environment",
  turn: "waits for the turn to end",
  children: "waits for its subagents",
  files: "waits for its files",
  room: "waits for room",
};
/** Where a move stands. */
export function moveWords({ status, waitsFor, error }: Pick<Move, "status" | "waitsFor" | "error">): string {
  if (status === "departed") return "moved";
  if (status === "failed") return error?.reason === "cancelled" ? "taken back" : failed(error);
  return status === "departing" ? "on its way; the other environment has not answered" : `about to move, ${waits[waitsFor]}`;
}

const linkStatuses: Record<Link["status"], string> = {
  offline: "offline",
  connecting: "connecting",
  online: "online",
  diverged: "stopped: the two sides disagree",
  revoked: "ended",
};
export function linkWords({ status, error }: Pick<Link, "status" | "error">): string {
  return error === null || status === "online" ? linkStatuses[status] : `${linkStatuses[status]} (${oneLine(error)})`;
}

/** Why something waits for a person, in a word or two. */
export const needWords: Record<NeedKind, string> = {
  approval: "asks",
  question: "asks",
  failed_transfer: "not told",
  failed_run: "failed",
  usage_limit: "limit",
  login: "login",
  stuck_run: "stuck",
  waiting_task: "waits",
  waiting_move: "move waits",
  diverged_link: "link stopped",
  blocked_link: "link blocked",
};

const failed = (error: Refusal | null): string => (error === null ? "failed" : `failed: ${oneLine(error.message)}`);

/** `1 run`, `3 runs`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** `12 kB`. */
export function sizeWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  const units = ["kB", "MB", "GB"];
  let size = bytes;
  let unit = -1;
  while (size >= 1_000 && unit < units.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}
