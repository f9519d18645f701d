import { z } from "zod";
import { ProjectId } from "./ids.ts";
import { Text, Timestamp, Title } from "./text.ts";

/** How two environments recognise the same project (contract §2): never by path or name alone. */
export const RepositoryIdentity = z.union([
  z.object({ kind: z.literal("origin"), value: z.string().min(1) }),
  z.object({ kind: z.literal("root_commit"), value: z.string().regex(/^[0-9a-f]{40,64}$/) }),
]);
export type RepositoryIdentity = z.infer<typeof RepositoryIdentity>;

/** A folder known to an environment. `repository` is null where the folder is in none. */
export const Project = z.object({
  id: ProjectId,
  name: Title.min(1),
  /** Real path of the folder; for a repository its top level. */
  path: Text,
  repository: RepositoryIdentity.nullable(),
  createdAt: Timestamp,
});
export type Project = z.infer<typeof Project>;
