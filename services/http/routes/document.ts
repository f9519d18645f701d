import { z } from "zod";
import { RefusalCode } from "../../../schemas/refusal.ts";
import { openApiDocument } from "../openapi.ts";
import { titles } from "../problem.ts";
import { type Route, route } from "../route.ts";

const ProblemAnswer = z.object({ code: RefusalCode, title: z.string() });

/** What the API says of itself: its own description, and what its problems are. Both are the same for everybody. */
export function documentRoutes(described: readonly Route[]): Route[] {
  const problems = route({
    method: "GET",
    path: "/problems/:code",
    name: "getProblem",
    about: "document",
    summary: "What a code of a problem means.",
    access: "nothing",
    params: { code: RefusalCode },
    answer: { kind: "json", schema: ProblemAnswer },
    handle: ({ params: { code } }) => ({ code, title: titles[code] }),
  });
  let text: string | null = null;
  const document: Route = route({
    method: "GET",
    path: "/openapi.json",
    name: "getDocument",
    about: "document",
    summary: "This description (OpenAPI 3.1).",
    access: "nothing",
    answer: { kind: "json", schema: z.record(z.string(), z.unknown()) },
    handle(): Response {
      text ??= JSON.stringify(openApiDocument([...described, problems, document]));
      return new Response(text, { headers: { "content-type": "application/json" } });
    },
  });
  return [problems, document];
}
