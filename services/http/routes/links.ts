import { LinkId, RequestId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { LinksAnswer, LinkViewAnswer, RequestAnswer } from "../answers.ts";
import { count, found } from "../input.ts";
import { maxWaitMs, usualWaitMs } from "../page.ts";
import { type Route, route } from "../route.ts";

export function linkRoutes(environment: Environment): Route[] {
  const { links } = environment;
  return [
    route({
      method: "GET",
      path: "/links",
      name: "listLinks",
      about: "links",
      summary: "The links to other environments, and where each stands.",
      access: "reads",
      answer: { kind: "json", schema: LinksAnswer },
      handle: () => ({ commit: environment.lastCommit, links: links.list() }),
    }),
    route({
      method: "GET",
      path: "/links/:id",
      name: "getLink",
      about: "links",
      summary: "A link.",
      access: "reads",
      params: { id: LinkId },
      answer: { kind: "json", schema: LinkViewAnswer },
      refuses: ["not_found"],
      handle: ({ params: { id } }) => ({ commit: environment.lastCommit, link: found(links.get(id), "link", id) }),
    }),
    route({
      method: "GET",
      path: "/requests/:id/wait",
      name: "waitForAnswer",
      about: "links",
      summary: "A linked environment's answer to a request of this one; null while there is none. The request goes on.",
      access: "reads",
      params: { id: RequestId },
      query: { timeoutMs: count(maxWaitMs).optional() },
      answer: { kind: "json", schema: RequestAnswer },
      async handle({ params: { id }, query: { timeoutMs = usualWaitMs } }) {
        const answer = await links.answer(id, { timeoutMs });
        return { commit: environment.lastCommit, answer };
      },
    }),
  ];
}
