import { z } from "zod";
import { ProjectId, ThreadId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { EnvironmentAnswer, HealthAnswer, ProjectAnswer, ProjectsAnswer, ProvidersAnswer, ResolveAnswer } from "../answers.ts";
import { found } from "../input.ts";
import { nouns, resolveReference } from "../references.ts";
import { type Route, route } from "../route.ts";

/** What this environment is and what is in it besides conversations. */
export function directoryRoutes(environment: Environment): Route[] {
  const { projects, providers } = environment;
  return [
    route({
      method: "GET",
      path: "/environment",
      name: "getEnvironment",
      about: "environment",
      summary: "What this environment is.",
      access: "reads",
      answer: { kind: "json", schema: EnvironmentAnswer },
      handle() {
        const { id, name, dir, lastCommit } = environment;
        return { commit: lastCommit, environment: { id, name, dir, pid: process.pid, node: process.version } };
      },
    }),
    route({
      method: "GET",
      path: "/health",
      name: "getHealth",
      about: "environment",
      summary: "What a person should know of this environment's health.",
      access: "reads",
      answer: { kind: "json", schema: HealthAnswer },
      handle: () => ({ commit: environment.lastCommit, health: environment.health() }),
    }),
    route({
      method: "GET",
      path: "/projects",
      name: "listProjects",
      about: "environment",
      summary: "The folders that this environment knows.",
      access: "reads",
      answer: { kind: "json", schema: ProjectsAnswer },
      handle: () => ({ commit: environment.lastCommit, projects: projects.list() }),
    }),
    route({
      method: "GET",
      path: "/projects/:id",
      name: "getProject",
      about: "environment",
      summary: "A project.",
      access: "reads",
      params: { id: ProjectId },
      answer: { kind: "json", schema: ProjectAnswer },
      refuses: ["not_found"],
      handle: ({ params: { id } }) => ({ commit: environment.lastCommit, project: found(projects.get(id), "project", id) }),
    }),
    route({
      method: "GET",
      path: "/providers",
      name: "listProviders",
      about: "environment",
      summary: "The providers that serve here, and what each can do.",
      access: "reads",
      answer: { kind: "json", schema: ProvidersAnswer },
      handle: () => ({ commit: environment.lastCommit, providers: providers.list() }),
    }),
    route({
      method: "GET",
      path: "/resolve/:noun",
      name: "resolve",
      about: "environment",
      summary: "Ids that a short reference may mean: the id, a beginning of its last part, `@last`, or an ordinal within a thread.",
      access: "reads",
      params: { noun: z.enum(nouns) },
      query: { ref: z.string().min(1).max(600), within: ThreadId.optional() },
      answer: { kind: "json", schema: ResolveAnswer },
      handle: ({ params: { noun }, query: { ref, within } }) => ({
        commit: environment.lastCommit,
        ids: resolveReference(environment, noun, ref, within),
      }),
    }),
  ];
}
