import type { Checkpoint } from "../../schemas/checkpoint.ts";
import type { ContextHandoff } from "../../schemas/handoff.ts";
import type { ActorId, LinkId, RunId, ThreadId, TransferId } from "../../schemas/ids.ts";
import type { NewItem } from "../../schemas/item.ts";
import type { Project } from "../../schemas/project.ts";
import type { ProviderThread } from "../../schemas/provider.ts";
import { emptyBatch } from "../../services/runtime/empty-batch.ts";
import { digestOrigin } from "../../services/runtime/ports/link-ledger.ts";
import type { ActorRow, CommitBatch, JournalRow, LinkRow } from "../../services/runtime/ports/store.ts";
import { systemIdentifiers } from "../../services/runtime/system-identifiers.ts";

export const ids = systemIdentifiers;

/** A commit of the named rows and nothing else. */
export function batchOf(rows: Partial<CommitBatch>): CommitBatch {
  return { ...emptyBatch(1_000), ...rows };
}

export function actorRow(row: Partial<ActorRow> = {}): ActorRow {
  const id: ActorId = row.id ?? ids.next("run");
  return {
    id,
    kind: "run",
    version: "1",
    seq: 1,
    state: { running: { input: "given" } },
    status: "running",
    context: { id, text: "a context" },
    owner: null,
    peer: null,
    ordinal: 1,
    ...row,
  };
}

export function journalRow(actorId: ActorId, row: Partial<JournalRow> = {}): JournalRow {
  return {
    actorId,
    kind: "run",
    seq: 1,
    event: { type: "run.created", at: 1_000, eid: ids.uuid() },
    from: null,
    to: "queued",
    verdict: "applied",
    ...row,
  };
}

export function newItem(threadId: ThreadId, row: Partial<NewItem> & { text?: string } = {}): NewItem {
  const { text = "text", ...rest } = row;
  return {
    id: ids.next("item"),
    threadId,
    runId: null,
    runOrdinal: 1,
    nativeId: null,
    truncated: false,
    createdAt: 1_000,
    body: { kind: "user_message", content: { text } },
    ...rest,
  };
}

export function checkpointOf(threadId: ThreadId, ordinal: number): Checkpoint {
  return {
    id: ids.next("checkpoint"),
    threadId,
    runId: ordinal === 0 ? null : ids.next("run"),
    ordinal,
    workspaceRef: null,
    createdAt: 1_000,
  };
}

export function handoffOf(transferId: TransferId, payload = "what was said"): ContextHandoff {
  return {
    id: ids.next("handoff"),
    transferId,
    kind: "portable_context",
    payload,
    isMessage: false,
    covers: [],
    budget: { unit: "chars", limit: 100 },
    size: payload.length,
    digest: digestOrigin,
    leftOut: [],
    createdAt: 1_000,
  };
}

export function providerThreadOf(threadId: ThreadId, lastRunId: RunId | null = null): ProviderThread {
  return {
    id: ids.next("pthread"),
    threadId,
    instance: "p1",
    nativeRef: { id: "native-1", strength: "strong" },
    coverage: { base: false, native: [[1, 1]], told: [], transfers: [] },
    lastRunId,
    lost: false,
    createdAt: 1_000,
  };
}

export function projectOf(name: string): Project {
  return { id: ids.next("project"), name, path: `/somewhere/${name}`, repository: null, createdAt: 1_000 };
}

export function positionAt(epoch: number, number: number) {
  return { epoch, number, digest: digestOrigin };
}

export function linkRow(linkId: LinkId): LinkRow {
  return {
    linkId,
    incarnation: ids.next("inc"),
    sent: positionAt(1, 0),
    receipted: positionAt(1, 0),
    received: null,
    previous: null,
    peerIncarnation: null,
    formerIncarnations: [],
  };
}

export function outboxRow(
  linkId: LinkId,
  epoch: number,
  number: number,
  body = `message ${epoch}/${number}`,
): CommitBatch["outbox"][number] {
  return { linkId, epoch, number, kind: "notice", requestId: null, body, digest: digestOrigin };
}

/** A few commits that leave at least one row in every table. */
export function commitsOfEveryKind(): CommitBatch[] {
  const [thread, run, transfer, link, peer] = [
    ids.next("thread"),
    ids.next("run"),
    ids.next("transfer"),
    ids.next("link"),
    ids.next("env"),
  ];
  const request = { kind: "thread.wake", policy: "repeatable", threadId: thread } as const;
  const effects = [ids.next("effect"), ids.next("effect")].map((id) => ({ id, request }));
  const open = { requestId: ids.next("req"), environmentId: peer, kind: "task.spawn", subject: "task", answer: null };
  const first = batchOf({
    journal: [journalRow(thread, { kind: "thread" }), journalRow(run)],
    actors: [
      actorRow({ id: thread, kind: "thread", state: "running", context: { id: thread, title: "A thread" } }),
      actorRow({ id: run, owner: thread, ordinal: 1, context: { id: run, threadId: thread } }),
      actorRow({ id: transfer, kind: "transfer", owner: thread, peer: ids.next("thread"), state: "pending", status: "pending" }),
    ],
    items: [newItem(thread, { runId: run }), newItem(thread, { runOrdinal: 0, truncated: true, nativeId: "n1", text: "tr\u00e8s long" })],
    blobs: [{ digest: "ab".repeat(32), bytes: new Uint8Array([0, 1, 254, 255]) }],
    checkpoints: [checkpointOf(thread, 0), checkpointOf(thread, 1)],
    handoffs: [handoffOf(transfer)],
    providerThreads: [providerThreadOf(thread, run)],
    projects: [projectOf("project")],
    effects,
    receipts: [{ commandId: ids.next("cmd"), digest: digestOrigin, response: { ok: true, result: { threadId: thread } } }],
    imports: [{ threadId: thread, digest: digestOrigin }],
    links: [linkRow(link)],
    outbox: [outboxRow(link, 1, 1), outboxRow(link, 1, 2)],
    incomingRequests: [{ environmentId: peer, requestId: ids.next("req"), digest: digestOrigin, answer: { ok: true, result: {} } }],
    outgoingRequests: [open, { ...open, requestId: ids.next("req"), answer: { ok: true, result: { childThreadId: thread } } }],
    keptMessages: [{ linkId: link, epoch: 1, number: 4, raw: "raw", reason: "why" }],
  });
  const later = actorRow({
    id: run,
    seq: 50,
    owner: thread,
    ordinal: 1,
    state: "completed",
    status: "completed",
    context: { id: run, threadId: thread },
  });
  const second = batchOf({
    at: 2_000,
    journal: [journalRow(run, { seq: 50, event: { type: "run.ended", at: 2_000, eid: ids.uuid() }, from: "running", to: "completed" })],
    actors: [later],
    items: [newItem(thread, { runId: run, body: { kind: "assistant_message", content: { text: "an answer" } } })],
    effectStates: effects.map((e, i) => ({ id: e.id, state: i === 0 ? ("started" as const) : ("set_aside" as const), note: "a note" })),
    receipted: [{ linkId: link, position: positionAt(1, 1) }],
  });
  return [first, second];
}
