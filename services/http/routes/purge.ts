import { z } from "zod";
import type { PurgeReport } from "../../../schemas/purge.ts";
import { Text } from "../../../schemas/text.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { Refused } from "../../runtime/refused.ts";
import { PurgeAnswer } from "../answers.ts";
import { readJson } from "../body.ts";
import { parsed } from "../input.ts";
import { type Route, route } from "../route.ts";
import { HttpRefusal } from "../statuses.ts";

const PurgeQuestion = z.strictObject({ text: Text });
const maxBodyBytes = 1_000_000;

/** Looking for a text everywhere, and taking it out: for the person whose environment it is. On the socket alone. */
export function purgeRoutes(environment: Pick<Environment, "purges" | "lastCommit">): Route[] {
  const answer = (work: (text: string) => Promise<PurgeReport>) => async (asked: { request: Request }) => {
    const { text } = parsed(PurgeQuestion, await readJson(asked.request, maxBodyBytes), "body");
    try {
      return { report: await work(text), commit: environment.lastCommit };
    } catch (error) {
      throw error instanceof Refused ? new HttpRefusal(error.refusal) : error;
    }
  };
  const shared = {
    method: "POST",
    about: "environment",
    access: "writes_environment",
    body: PurgeQuestion,
    answer: { kind: "json", schema: PurgeAnswer },
    refuses: ["invalid_request"],
  } as const;
  return [
    route({
      ...shared,
      path: "/purge/look",
      name: "lookForText",
      summary: "Where a text is, in all that this environment keeps. Changes nothing. On the unix socket only.",
      handle: answer((text) => environment.purges.look(text)),
    }),
    route({
      ...shared,
      path: "/purge",
      name: "purgeText",
      summary: "Takes a text out of all that this environment keeps, and says where it stays. On the unix socket only.",
      handle: answer((text) => environment.purges.purge(text)),
    }),
  ];
}
