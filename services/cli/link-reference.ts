import type { LinkId } from "../../schemas/ids.ts";
import type { LocalClient } from "../http/client.ts";
import { resolve } from "./references.ts";

/** A link by its name, else by its id or a unique beginning of it. One that has ended gives its name to one that has not. */
export async function linkId(client: LocalClient, ref: string): Promise<LinkId> {
  const named = (await client.links()).links.filter((link) => link.name === ref);
  return (named.find(({ status }) => status !== "revoked") ?? named[0])?.id ?? resolve(client, "link", ref);
}
