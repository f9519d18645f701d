import type { LinkId } from "../../../schemas/ids.ts";
import type { Grant, Link } from "../../../schemas/link.ts";
import type { Links, LinkView } from "../environment-api.ts";
import { newLinkRow } from "../outbox.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { asLink, linkFrom } from "../typed-actors.ts";
import type { Commits } from "./commits.ts";
import { everyCommit, waitFor } from "./waiting.ts";

export type LinkFacts = {
  grants(id: LinkId): readonly Grant[];
  fingerprint(id: LinkId): string | null;
  statistics(id: LinkId): Record<string, unknown> | null;
};

export function linkReads(store: Store, commits: Commits, clock: Clock, facts: LinkFacts): Links {
  const view = (link: Link): LinkView => {
    const row = store.link(link.id) ?? newLinkRow(link.id, store.incarnation);
    return {
      ...link,
      grants: facts.grants(link.id),
      fingerprint: facts.fingerprint(link.id),
      sent: row.sent,
      receipted: row.receipted,
      received: row.received,
      backlog: store.outboxCount(link.id),
      keptMessages: store.keptMessages(link.id).map(({ epoch, number, reason }) => ({ epoch, number, reason })),
      openRequests: store.openRequests(link.peerEnvironmentId).map(({ requestId, kind, subject }) => ({ requestId, kind, subject })),
      statistics: facts.statistics(link.id),
    };
  };
  return {
    list: () => store.actorsBy({ kind: "link" }).map((row) => view(asLink(row))),
    get: (id) => {
      const link = linkFrom(store, id);
      return link === null ? null : view(link);
    },
    answer: (id, { timeoutMs = 60_000 } = {}) =>
      waitFor(
        everyCommit(commits),
        clock,
        timeoutMs,
        () => store.outgoingRequest(id)?.answer ?? null,
        (answer) => answer !== null,
      ),
  };
}
