import type { EnvironmentId, MoveId, ProjectId, ThreadId } from "../../../schemas/ids.ts";
import type { MovedCode } from "../../../schemas/move.ts";
import type { Refusal } from "../../../schemas/refusal.ts";

export type PackedCode = { ok: true; code: MovedCode } | { ok: false; refusal: Refusal };

/** What was prepared for a thread that is to come: the folder that it would work in, or why it cannot have one. */
export type Arrival = { ok: true; path: string; left: string[] } | { ok: false; refusal: Refusal };

export type Arriving = { projectId: ProjectId; threadId: ThreadId; moveId: MoveId; from: EnvironmentId; code: MovedCode };

/** How a thread's code is taken to another copy of its repository (decision 0117). Nothing here throws for what the outside does. */
export interface MovingCode {
  /** Commits of the thread's repository that another copy of it may have, the newest first, bounded. */
  candidates(threadId: ThreadId): Promise<string[]>;
  /** Which of these commits a project's repository has. */
  known(projectId: ProjectId, commits: readonly string[]): Promise<string[]>;
  /** What the thread's folder holds, with the commits that none of `known` leads to. Touches neither folder nor branches. */
  pack(threadId: ThreadId, moveId: MoveId, known: readonly string[]): Promise<PackedCode>;
  /**
   * Brings packed code into a project's repository and makes the thread's folder of it; may be repeated. A branch moves only
   * to a descendant of itself; one that went another way is left, what came is parked, and the code refused.
   */
  unpack(arriving: Arriving): Promise<Arrival>;
  /**
   * After the decision. `undo` takes back what `unpack` did, each step only where nobody has changed it since; says what
   * was left. May be repeated.
   */
  settle(arrived: { projectId: ProjectId; threadId: ThreadId; branch: string | null; head: string | null; undo: boolean }): Promise<string>;
}
