import { z } from "zod";
import type { Caller } from "../../../schemas/command.ts";
import type { PurgeReport } from "../../../schemas/purge.ts";
import { refusal } from "../../../schemas/refusal.ts";
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

/** Looking for a text everywhere, and taking it out: for the person whose environment it is, and for nobody whom they let in. */
export function purgeRoutes(environment: Environment): Route[] {
  const answer = (work: (text: string) => Promise<PurgeReport>) => async (asked: { caller: Caller; request: Request }) => {
    if (asked.caller.kind !== "user") throw new HttpRefusal(personOnly);
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
      summary: "Where a text is, in all that this environment keeps. For this machine's user alone; changes nothing.",
      handle: answer((text) => environment.purges.look(text)),
    }),
    route({
      ...shared,
      path: "/purge",
      name: "purgeText",
      summary: "Takes a text out of all that this environment keeps, and says where it stays. For this machine's user alone.",
      handle: answer((text) => environment.purges.purge(text)),
    }),
  ];
}

const personOnly = refusal("capability_denied", "person_only", "only a person can purge", "Ask the person whose environment it is.");
