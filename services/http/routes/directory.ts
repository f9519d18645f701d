import { Hono } from "hono";
import { z } from "zod";
import { ProjectId } from "../../../schemas/ids.ts";
import { Digest } from "../../../schemas/text.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { found, parsed, pathId, query } from "../input.ts";
import { isNoun, nouns, resolveReference } from "../references.ts";

/** What this environment is and what is in it besides conversations. */
export function directoryRoutes(environment: Environment): Hono {
  return new Hono()
    .get("/environment", (c) => {
      const { id, name, dir, lastCommit } = environment;
      return c.json({ commit: lastCommit, environment: { id, name, dir, pid: process.pid, node: process.version } });
    })
    .get("/health", (c) => c.json({ commit: environment.lastCommit, health: environment.health() }))
    .get("/projects", (c) => c.json({ commit: environment.lastCommit, projects: environment.projects.list() }))
    .get("/projects/:id", (c) => {
      const id = pathId(c, "id", ProjectId);
      return c.json({ commit: environment.lastCommit, project: found(environment.projects.get(id), "project", id) });
    })
    .get("/providers", (c) => c.json({ commit: environment.lastCommit, providers: environment.providers.list() }))
    .get("/blobs/:digest", (c) => {
      const digest = pathId(c, "digest", Digest);
      const bytes = found(environment.threads.blob(digest), "blob", digest);
      return c.body(new Uint8Array(bytes), 200, { "content-type": "application/octet-stream" });
    })
    .get("/resolve/:noun", (c) => {
      const noun = parsed(z.string().refine(isNoun, `expected one of ${nouns.join(", ")}`), c.req.param("noun"), "noun");
      const { ref, within } = query(c, { ref: z.string().min(1).max(600), within: z.string().max(600).optional() });
      return c.json({ commit: environment.lastCommit, ids: resolveReference(environment, noun, ref, within) });
    });
}
