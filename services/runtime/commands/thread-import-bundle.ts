import { createHash } from "node:crypto";
import { z } from "zod";
import type { BundleKind, BundleRecord, ThreadBundle } from "../../../schemas/bundle.ts";
import { Checkpoint } from "../../../schemas/checkpoint.ts";
import { ContextHandoff } from "../../../schemas/handoff.ts";
import { importThreadId, type ThreadId } from "../../../schemas/ids.ts";
import { NewItem } from "../../../schemas/item.ts";
import { narrower } from "../../../schemas/modes.ts";
import { isEndedRun, Run } from "../../../schemas/run.ts";
import { isEndedTask, Task } from "../../../schemas/task.ts";
import { Digest, Text } from "../../../schemas/text.ts";
import { ThreadContext } from "../../../schemas/thread.ts";
import { ContextTransfer } from "../../../schemas/transfer.ts";
import { createdBy } from "../access.ts";
import { namesIn, renamed } from "../bundles/names.ts";
import { damagedBundle, whatIsWrongWith } from "../bundles/text.ts";
import { payloadDigest } from "../digest.ts";
import type { Plan, PlanContext } from "../plan.ts";
import { Refused, refuse } from "../refused.ts";
import { threadFrom } from "../typed-actors.ts";
import { blankThread, settleProject } from "./thread-create.ts";

/** What a bundle says of a thread. */
const ThreadRecord = ThreadContext.pick({
  id: true,
  title: true,
  lineage: true,
  inherited: true,
  historyOrigin: true,
  provider: true,
  preferred: true,
  marks: true,
  createdBy: true,
  createdAt: true,
  latestStable: true,
  lastOrdinal: true,
});
type ThreadRecord = z.infer<typeof ThreadRecord>;
const CheckpointRecord = Checkpoint.omit({ workspaceRef: true, workspace: true, workspaceNote: true });
const BlobRecord = z.strictObject({ digest: Digest, text: Text });

/**
 * A thread and all that its bundle holds, in one commit (decision 0111). Its ids are its own here; the thread's follows from
 * where it comes from and what it holds, so that the same bundle is the same thread. For the person at this machine alone:
 * what it writes looks like what happened here.
 */
export const importBundle: Plan<"thread.import_bundle"> = (command, context) => {
  if (context.caller.kind !== "user")
    refuse("capability_denied", "not_for_programs", "a bundle is imported by a person alone", "Ask a person of this environment to do it.");
  const { bundle } = command;
  const wrong = whatIsWrongWith(bundle);
  if (wrong !== null) throw new Refused(damagedBundle(wrong));
  const { header, end } = bundle;
  const handoffId = `bundle-${end.content}${command.again === undefined ? "" : `-${command.again}`}`;
  const threads = header.parts.map((part) => importThreadId(header.environmentId, part, handoffId));
  const threadId = threads.at(-1) as ThreadId;
  if (context.overlay.importDigest(threadId) !== null) {
    if (threadFrom(context.overlay, threadId)?.status === "deleted")
      refuse(
        "invalid_request",
        "import_deleted",
        `it was imported as ${threadId}, which was deleted`,
        "Import it as another thread: --again",
      );
    return { threadId, created: false, content: end.content };
  }
  write(context, bundle, threads, handoffId, settleProject(context, command.projectId));
  context.overlay.putImport(threadId, payloadDigest({ content: end.content }));
  return { threadId, created: true, content: end.content };
};

function write(
  context: PlanContext,
  bundle: ThreadBundle,
  threads: ThreadId[],
  handoffId: string,
  projectId: ThreadContext["projectId"],
): void {
  const names = freshNames(context, bundle.records, threads);
  const of = <S extends z.ZodType>(kind: BundleKind, schema: S): z.output<S>[] =>
    bundle.records.filter((record) => record.kind === kind).map((record) => checked(schema, record, names));
  const own = new Set<string>(names.values());
  const needOwn = (id: string, what: string) => own.has(id) || broken(`${what} belongs to nothing in it`);

  for (const { digest, text } of of("blob", BlobRecord)) {
    const bytes = new TextEncoder().encode(text);
    if (createHash("sha256").update(bytes).digest("hex") !== digest) broken("a large text is not what its digest says");
    if (context.overlay.blob(digest) === null) context.overlay.addBlob(digest, bytes);
  }
  const records = of("thread", ThreadRecord);
  if (records.length !== threads.length || new Set(threads).size !== threads.length || records.some(({ id }, at) => id !== threads[at]))
    broken("its threads are not those of its first line");
  if (records.some(({ inherited }) => inherited !== null && !own.has(inherited.threadId))) broken("its history is not in it");
  for (const record of records) makeThread(context, bundle, record, record.id !== threads.at(-1), handoffId, projectId);
  const taken = new Set<string>();
  for (const run of of("run", Run)) {
    needOwn(run.threadId, "a run");
    if (!isEndedRun(run.status)) broken("a run in it has not ended");
    if (taken.has(`${run.threadId} ${run.ordinal}`)) broken("two runs of it have one place");
    taken.add(`${run.threadId} ${run.ordinal}`);
    const { id, threadId, ordinal, messageItemId, requested, modes, createdBy } = run;
    context.uow.create(id, { type: "run.created", input: { id, threadId, ordinal, messageItemId, requested, modes, createdBy } });
    context.uow.tell({ to: id, event: { type: "run.imported", record: run } });
  }
  for (const checkpoint of of("checkpoint", CheckpointRecord)) {
    needOwn(checkpoint.threadId, "a checkpoint");
    context.overlay.putCheckpoint({ ...checkpoint, workspaceRef: null });
  }
  for (const transfer of of("transfer", ContextTransfer)) {
    needOwn(transfer.targetThreadId, "a transfer");
    const {
      resolution: _r,
      error: _e,
      supersededBy: _s,
      consumedAt: _a,
      consumedByRunId: _b,
      claim: _c,
      createdAt: _t,
      status,
      ...input
    } = transfer;
    context.uow.create(transfer.id, { type: "transfer.created", input });
    if (status !== "pending" && !["failed", "consumed", "superseded"].includes(status)) broken("a transfer in it is half resolved");
    context.uow.tell({ to: transfer.id, event: { type: "transfer.imported", record: transfer } });
  }
  for (const handoff of of("handoff", ContextHandoff)) {
    needOwn(handoff.transferId, "a handoff");
    context.overlay.addHandoff(handoff);
  }
  for (const task of of("task", Task)) {
    needOwn(task.parentThreadId, "a task");
    if (!isEndedTask(task.status)) broken("a task in it has not ended");
    const { id, title, parentThreadId, parentRunId, rootThreadId, childEnvironmentId, childThreadId, requestId, spawnedBy, depth } = task;
    const input = { id, title, parentThreadId, parentRunId, rootThreadId, childEnvironmentId, childThreadId, requestId, spawnedBy, depth };
    context.uow.create(id, { type: "task.created", input });
    context.uow.tell({ to: id, event: { type: "task.imported", record: task } });
  }
  for (const item of of("item", NewItem)) {
    needOwn(item.threadId, "an item");
    context.overlay.addItem(item);
  }
}

/** What only shows its history to the thread of the bundle is kept as a deleted thread's is for its forks. */
function makeThread(
  context: PlanContext,
  { header }: ThreadBundle,
  record: ThreadRecord,
  isAncestor: boolean,
  handoffId: string,
  projectId: ThreadContext["projectId"],
): void {
  const { id, title, lineage, inherited, historyOrigin, preferred, latestStable } = record;
  const source = header.parts[namesAt(record, header, handoffId)] ?? header.threadId;
  context.uow.create(id, {
    type: "thread.created",
    input: {
      ...blankThread(id),
      projectId,
      title,
      lineage,
      inherited,
      historyOrigin,
      importedFrom: { environmentId: header.environmentId, threadId: source, handoffId },
      // What a file says of itself gives nobody more than a new thread here has.
      modes: narrower(header.modes, context.settings.modes),
      preferred,
      latestStable,
      createdBy: createdBy(context.caller),
    },
  });
  const { provider, marks, createdBy: maker, createdAt, lastOrdinal } = record;
  context.uow.tell({
    to: id,
    event: { type: "thread.imported", record: { provider, marks, createdBy: maker, createdAt, lastOrdinal }, isAncestor },
  });
}

const namesAt = ({ id }: ThreadRecord, { environmentId, parts }: ThreadBundle["header"], handoffId: string): number =>
  parts.findIndex((part) => importThreadId(environmentId, part, handoffId) === id);

/** An id of this environment for everything that a bundle names; each kind in the order in which it stands there. */
function freshNames(context: PlanContext, records: readonly BundleRecord[], threads: readonly ThreadId[]): Map<string, string> {
  const names = new Map<string, string>(threads.map((id, at) => [`thread/${at}`, id]));
  for (const { kind, data } of records) {
    if (kind === "thread" || kind === "blob") continue;
    const name = data.id;
    if (typeof name !== "string" || !name.startsWith(`${kind}/`) || names.has(name))
      broken(`${kind} ${String(name)} has no name of its own`);
    else names.set(name, context.uow.ids.next(kind));
  }
  for (const record of records)
    for (const name of record.kind === "blob" ? [] : namesIn(record.data)) if (!names.has(name)) broken(`${name} is not in it`);
  return names;
}

function checked<S extends z.ZodType>(schema: S, { kind, data }: BundleRecord, names: ReadonlyMap<string, string>): z.output<S> {
  const parsed = schema.safeParse(renamed(data, names));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  return broken(
    `${kind} ${String(data.id ?? data.digest)}: ${issue?.path.map(String).join(".") || "it"}: ${issue?.message ?? "malformed"}`,
  );
}

function broken(why: string): never {
  throw new Refused(damagedBundle(why));
}
