import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { ProjectId, ThreadId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { ProviderChoice } from "../../schemas/provider.ts";
import type { Refusal } from "../../schemas/refusal.ts";
import type { AppThread } from "../../schemas/thread.ts";
import { EnvironmentRefused } from "../http/client/failures.ts";
import type { LocalClient } from "../http/client.ts";
import type { Session } from "../sessions/session.ts";
import type { Shell } from "./shell.ts";
import { oneLine } from "./terminal.ts";

export type Adopted =
  /** A thread was made; `older`: one that was made earlier, of less of the session. */
  | { status: "imported"; threadId: ThreadId; older: ThreadId | null }
  /** It is a thread already, as it stands. */
  | { status: "already"; threadId: ThreadId }
  /** It is a thread already, and the session has gone on since; or that thread was deleted. Nothing was made. */
  | { status: "grown" | "deleted"; threadId: ThreadId }
  | { status: "refused"; refusal: Refusal };

type Key = Pick<Session, "agent" | "id">;
const keyOf = ({ agent, id }: Key): string => `${agent} ${id}`;
/** A command's id has not the room for any session's or folder's name. */
const shortOf = (name: string): string => createHash("sha256").update(name).digest("hex").slice(0, 24);
const allThreads = 10_000;

/** Makes threads of sessions, each once (decision 0109). */
export class Adopter {
  readonly #shell: Shell;
  readonly #client: LocalClient;
  readonly #threads: Map<string, AppThread[]>;
  readonly #projects = new Map<string, ProjectId | null>();

  private constructor(shell: Shell, client: LocalClient, threads: readonly AppThread[]) {
    this.#shell = shell;
    this.#client = client;
    this.#threads = Map.groupBy(
      threads.filter((thread) => thread.importedFrom !== undefined),
      ({ importedFrom: from }) => `${from?.environmentId} ${from?.threadId}`,
    );
  }

  static async create(shell: Shell, client: LocalClient): Promise<Adopter> {
    const { threads } = await client.threads({ includeDeleted: true, limit: allThreads });
    return new Adopter(shell, client, threads);
  }

  /** The thread that was made of a session last, and is not deleted. */
  threadOf(session: Key): ThreadId | null {
    return this.#newest(session, false)?.id ?? null;
  }

  /** `again`: also when it has grown since it was imported, or its thread was deleted. */
  async adopt(session: Session, options: { again: boolean; provider?: ProviderChoice; ownWorktree?: boolean }): Promise<Adopted> {
    const before = this.#threads.get(keyOf(session)) ?? [];
    const same = before.filter((thread) => thread.importedFrom?.handoffId.split("#")[0] === session.position);
    const living = same.find((thread) => thread.status !== "deleted");
    if (living !== undefined) return { status: "already", threadId: living.id };
    const older = this.#newest(session, false);
    const last = older ?? this.#newest(session, true);
    if (last !== null && !options.again) return { status: older === null ? "deleted" : "grown", threadId: last.id };
    try {
      const { threadId, created } = await this.#import(session, same.length, options);
      // Made by another call meanwhile, or before the threads that are looked through.
      if (!created) return { status: "already", threadId };
      return { status: "imported", threadId, older: older?.id ?? null };
    } catch (error) {
      if (!(error instanceof EnvironmentRefused)) throw error;
      return { status: "refused", refusal: error.refusal };
    }
  }

  /** `deleted`: how many threads of just this were deleted; a key is never used twice. */
  async #import(
    session: Session,
    deleted: number,
    { provider, ownWorktree = false }: { provider?: ProviderChoice; ownWorktree?: boolean },
  ) {
    const projectId = await this.#projectOf(session);
    const { result } = await this.#client.command(
      {
        type: "thread.import",
        import: {
          handoffId: deleted === 0 ? session.position : `${session.position}#${deleted}`,
          sourceEnvironmentId: session.agent,
          sourceThreadId: session.id,
          title: oneLine(session.title).slice(0, limits.titleChars).toWellFormed(),
          messages: session.messages.map(({ createdAt, ...message }) => ({ ...message, ...(createdAt !== null && { createdAt }) })),
          ...(projectId !== null && { projectId }),
          ...(provider !== undefined && { provider }),
        },
        ...(ownWorktree && { ownWorktree }),
      },
      this.#shell.commandId(`import-${shortOf(keyOf(session))}`),
    );
    return result;
  }

  /** The project of the folder that the session worked in; null where that is not there any more. */
  async #projectOf({ folder }: Session): Promise<ProjectId | null> {
    if (folder === null || !isAbsolute(folder)) return null;
    const known = this.#projects.get(folder);
    if (known !== undefined) return known;
    const isThere = await stat(folder).then(
      (facts) => facts.isDirectory(),
      () => false,
    );
    const projectId = isThere ? await this.#added(folder) : null;
    this.#projects.set(folder, projectId);
    return projectId;
  }

  async #added(folder: string): Promise<ProjectId | null> {
    try {
      const { result } = await this.#client.command(
        { type: "project.add", path: folder },
        this.#shell.commandId(`project-${shortOf(folder)}`),
      );
      return result.projectId;
    } catch (error) {
      // Gone, or not for the environment's eyes: then it is a thread without a project.
      if (error instanceof EnvironmentRefused) return null;
      throw error;
    }
  }

  #newest(session: Key, deleted: boolean): AppThread | null {
    const threads = (this.#threads.get(keyOf(session)) ?? []).filter((thread) => (thread.status === "deleted") === deleted);
    return threads.sort((a, b) => b.createdAt - a.createdAt)[0] ?? null;
  }
}
