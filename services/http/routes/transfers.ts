import { HandoffId, ThreadId, TransferId } from "../../../schemas/ids.ts";
import type { ContextTransfer } from "../../../schemas/transfer.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { HandoffAnswer, TransferAnswer, TransferHistoryAnswer, TransfersAnswer } from "../answers.ts";
import { flag, found } from "../input.ts";
import { listing, pageOf, placeOf, usualPage } from "../page.ts";
import { type Route, route } from "../route.ts";

export function transferRoutes(environment: Environment): Route[] {
  const { transfers } = environment;
  return [
    route({
      method: "GET",
      path: "/transfers",
      name: "listTransfers",
      about: "transfers",
      summary: "Context transfers, oldest first unless asked otherwise, and how many items each retold one left out.",
      access: "reads",
      query: {
        target: ThreadId.optional(),
        source: ThreadId.optional(),
        newestFirst: flag.optional(),
        ...listing,
        cursor: TransferId.optional(),
      },
      answer: { kind: "json", schema: TransfersAnswer },
      handle({ query: { target, source, newestFirst = false, limit = usualPage, cursor } }) {
        const filter = { newestFirst, ...(target !== undefined && { target }), ...(source !== undefined && { source }) };
        const begin = placeOf(cursor, (id) => transfers.get(id as TransferId));
        const { records, next } = pageOf(limit, begin, (after, most) =>
          transfers.list({ ...filter, limit: most, ...(after !== undefined && { after: after.id }) }),
        );
        return { commit: environment.lastCommit, transfers: records, leftOut: leftOut(environment, records), next };
      },
    }),
    route({
      method: "GET",
      path: "/transfers/:id",
      name: "getTransfer",
      about: "transfers",
      summary: "A transfer: every status that it had, and what was built for it.",
      access: "reads",
      params: { id: TransferId },
      answer: { kind: "json", schema: TransferAnswer },
      refuses: ["not_found"],
      handle({ params: { id } }) {
        const transfer = found(transfers.get(id), "transfer", id);
        return {
          commit: environment.lastCommit,
          transfer,
          history: transfers.history(id),
          handoffs: transfers.handoffsOf(id),
          leftOut: leftOut(environment, [transfer]),
        };
      },
    }),
    route({
      method: "GET",
      path: "/transfers/:id/history",
      name: "getTransferHistory",
      about: "transfers",
      summary: "Every status that a transfer had.",
      access: "reads",
      params: { id: TransferId },
      answer: { kind: "json", schema: TransferHistoryAnswer },
      refuses: ["not_found"],
      handle({ params: { id } }) {
        found(transfers.get(id), "transfer", id);
        return { commit: environment.lastCommit, history: transfers.history(id) };
      },
    }),
    route({
      method: "GET",
      path: "/handoffs/:id",
      name: "getHandoff",
      about: "transfers",
      summary: "A handoff: exactly what a provider was told, and what was left out of it and why.",
      access: "reads",
      params: { id: HandoffId },
      answer: { kind: "json", schema: HandoffAnswer },
      refuses: ["not_found"],
      handle: ({ params: { id } }) => ({ commit: environment.lastCommit, handoff: found(transfers.handoff(id), "handoff", id) }),
    }),
  ];
}

/** How many items each retold transfer left out; what people are shown beside its status (decision 49). */
function leftOut(environment: Environment, transfers: readonly ContextTransfer[]): Record<TransferId, number> {
  const counts: Record<TransferId, number> = {};
  for (const { id, resolution } of transfers) {
    if (resolution === null || resolution.kind === "native_fork") continue;
    counts[id] = environment.transfers.handoff(resolution.contextHandoffId)?.leftOut.length ?? 0;
  }
  return counts;
}
