import type { TransferId } from "../../../schemas/ids.ts";
import { createdBy, mayChange } from "../access.ts";
import { mergedUpTo, mergesOf } from "../merges.ts";
import { needPresent, type Plan } from "../plan.ts";
import { refuse } from "../refused.ts";
import { pointAt } from "../source-point.ts";

/** Brings what a fork found back to its recorded parent, with the parent's next run (contract §6, Merge-back). */
export const mergeBack: Plan<"thread.merge_back"> = (command, context) => {
  const fork = needPresent(context, command.threadId);
  mayChange(context, fork);
  const parentId = fork.lineage.relationshipToParent === "fork" ? fork.lineage.parentThreadId : null;
  if (parentId === null)
    refuse(
      "invalid_request",
      "not_a_fork",
      `${fork.id} is not a fork`,
      "Only a fork can be merged back, into the thread it was forked from.",
    );
  if (command.into !== undefined && command.into !== parentId)
    refuse(
      "invalid_request",
      "not_the_parent",
      `${fork.id} was forked from ${parentId}, not from ${command.into}`,
      `Merge it into ${parentId}.`,
    );
  const parent = needPresent(context, parentId);
  mayChange(context, parent);
  if (fork.latestStable === null || fork.latestStable.ordinal === 0)
    refuse("invalid_request", "no_stable_point", `${fork.id} has no completed run of its own yet`, "Let it complete a run first.");
  const basePoint = mergedUpTo(context.overlay, fork.id, parentId);
  if (basePoint !== null && basePoint.threadId === fork.id && (basePoint.ordinal ?? 0) >= fork.latestStable.ordinal)
    refuse("invalid_request", "nothing_new", `everything of ${fork.id} was merged already`, "Run it again first.");

  const id = context.uow.ids.next("transfer");
  const replaced = mergesOf(context.overlay, fork.id, parentId).filter(
    (t) => t.claim === null && t.status !== "consumed" && t.status !== "superseded",
  );
  context.uow.create(id, {
    type: "transfer.created",
    input: {
      id,
      type: "merge_back",
      sourceThreadId: fork.id,
      targetThreadId: parentId,
      sourcePoint: pointAt({ threadId: fork.id, ...fork.latestStable }),
      basePoint: basePoint ?? (fork.inherited === null ? null : pointAt(fork.inherited)),
      sourceProvider: fork.provider?.instance ?? null,
      targetProvider: null,
      supersedes: replaced.at(-1)?.id ?? null,
      createdBy: createdBy(context.caller),
      taskId: null,
      content: null,
      outcome: null,
    },
  });
  for (const old of replaced) context.uow.tell({ to: old.id, event: { type: "transfer.superseded", by: id } });
  return { transferId: id, into: parentId, supersedes: (replaced.at(-1)?.id ?? null) satisfies TransferId | null };
};
