import { z } from "zod";
import { EnvironmentId } from "../../../schemas/ids.ts";
import { LinkStatus } from "../../../schemas/link.ts";
import { defineTool } from "../tool.ts";

const LinkAnswer = z.object({
  environmentId: EnvironmentId,
  name: z.string(),
  status: LinkStatus,
  /** Messages that the peer's store does not have yet. */
  backlog: z.int(),
  openRequests: z.int(),
  lastSeenAt: z.number().nullable(),
});

export const t3EnvironmentLinks = defineTool({
  name: "t3_environment_links",
  description: "Linked environments that tasks can be delegated to.",
  access: "reads",
  hints: {},
  input: z.strictObject({}),
  output: z.object({ links: z.array(LinkAnswer) }),
  run(_, { environment, sight }) {
    // What a link started may not use the others (contract §8).
    const links = environment.links.list().filter((link) => sight.stamp === null || link.id === sight.stamp.linkId);
    return {
      links: links.map((link) => ({
        environmentId: link.peerEnvironmentId,
        name: link.name,
        status: link.status,
        backlog: link.backlog,
        openRequests: link.openRequests.length,
        lastSeenAt: link.lastSeenAt,
      })),
    };
  },
});
