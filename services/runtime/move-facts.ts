import { type EnvironmentId, importThreadId } from "../../schemas/ids.ts";
import type { RepositoryIdentity } from "../../schemas/project.ts";
import type { LinkRequest } from "../../schemas/wire.ts";
import { about, type Facts } from "./facts.ts";
import type { MovingCode } from "./ports/moving-code.ts";
import type { Store } from "./ports/store.ts";

type OfMove = Extract<LinkRequest, { kind: "thread.move" | "move.preflight" }>;

/**
 * What the repository here has for a peer's move: of a preflight the commits that are there, of an offer the folder that its
 * code was made into, before anything is decided (links.md, Moves).
 */
export async function factsForMove(request: OfMove, from: EnvironmentId, store: Store, code: MovingCode): Promise<Facts> {
  if (request.kind === "move.preflight") {
    const { threadId, repository, commits } = request.move;
    const project = projectOf(store, repository);
    return new Map(project === null ? [] : [[threadId, about({ commits: await code.known(project, commits) })]]);
  }
  const { offer } = request;
  const threadId = importThreadId(from, offer.sourceThreadId, offer.moveId);
  const projectId = projectOf(store, offer.repository);
  // Where the thread is here already, or may never be, nothing is prepared.
  if (offer.code === null || projectId === null || store.importDigest(threadId) !== null) return new Map();
  const arrival = await code.unpack({ projectId, threadId, moveId: offer.moveId, from, code: offer.code });
  return new Map([[threadId, about({ arrival })]]);
}

function projectOf(store: Store, repository: RepositoryIdentity | null) {
  const same = store.projects().find((p) => p.repository?.kind === repository?.kind && p.repository?.value === repository?.value);
  return repository === null ? null : (same?.id ?? null);
}
