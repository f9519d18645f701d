import type { Environment } from "../../runtime/environment-api.ts";
import { NeedsAnswer } from "../answers.ts";
import { type Route, route } from "../route.ts";

/** What waits for a person. */
export function needRoutes(environment: Environment): Route[] {
  return [
    route({
      method: "GET",
      path: "/needs",
      name: "listNeeds",
      about: "needs",
      summary: "All that waits for a person, longest first: why, since when, and the command that clears it.",
      access: "reads",
      answer: { kind: "json", schema: NeedsAnswer },
      handle: async () => ({ commit: environment.lastCommit, needs: await environment.needs() }),
    }),
  ];
}
