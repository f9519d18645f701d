import { MoveId, ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { MoveAnswer, MovesAnswer } from "../answers.ts";
import { count, flag, found } from "../input.ts";
import { listing, maxWaitMs, pageOf, placeOf, usualPage, usualWaitMs } from "../page.ts";
import { type Route, route } from "../route.ts";

export function moveRoutes(environment: Environment): Route[] {
  const { moves } = environment;
  return [
    route({
      method: "GET",
      path: "/moves",
      name: "listMoves",
      about: "moves",
      summary: "Moves of threads of this environment to linked ones, newest first.",
      access: "reads",
      query: { thread: ThreadId.optional(), open: flag.optional(), ...listing, cursor: MoveId.optional() },
      answer: { kind: "json", schema: MovesAnswer },
      handle({ query: { thread, open, limit = usualPage, cursor } }) {
        const filter = { ...(thread !== undefined && { thread }), ...(open !== undefined && { open }) };
        const begin = placeOf(cursor, (id) => moves.get(id as MoveId));
        const { records, next } = pageOf(limit, begin, (after, most) =>
          moves.list({ ...filter, limit: most, ...(after !== undefined && { after: after.id }) }),
        );
        return { commit: environment.lastCommit, moves: records, next };
      },
    }),
    route({
      method: "GET",
      path: "/moves/:id",
      name: "getMove",
      about: "moves",
      summary: "A move.",
      access: "reads",
      params: { id: MoveId },
      answer: { kind: "json", schema: MoveAnswer },
      refuses: ["not_found"],
      handle: ({ params: { id } }) => ({ commit: environment.lastCommit, move: found(moves.get(id), "move", id) }),
    }),
    route({
      method: "GET",
      path: "/moves/:id/wait",
      name: "waitForMove",
      about: "moves",
      summary: "The move as soon as it is decided, or as it is when the time is up. Never cancels it.",
      access: "reads",
      params: { id: MoveId },
      query: { timeoutMs: count(maxWaitMs).optional() },
      answer: { kind: "json", schema: MoveAnswer },
      refuses: ["not_found"],
      async handle({ params: { id }, query: { timeoutMs = usualWaitMs } }) {
        found(moves.get(id), "move", id);
        const move = await moves.wait(id, { timeoutMs });
        return { commit: environment.lastCommit, move: found(move, "move", id) };
      },
    }),
  ];
}
