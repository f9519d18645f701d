import { ClientResource } from "../../schemas/client.ts";

/** Where each resource is, below the address by which this environment was called. */
export const resourceUrl = (origin: string, resource: ClientResource) => `${origin}/${resource}`;

/**
 * What the `resource` indicators of a request name (RFC 8707); none: all. The origin itself stands for all of it. Null when
 * one of them is no resource of this environment, as it was called.
 */
export function resourcesNamed(indicators: readonly string[], origin: string): ClientResource[] | null {
  if (indicators.length === 0) return [...ClientResource.options];
  const named = indicators.map((indicator) => resourcesAt(indicator, origin));
  if (named.includes(null)) return null;
  return ClientResource.options.filter((one) => named.some((some) => some?.includes(one)));
}

function resourcesAt(indicator: string, origin: string): readonly ClientResource[] | null {
  if (!URL.canParse(indicator)) return null;
  const url = new URL(indicator);
  if (url.origin !== origin || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") return null;
  const path = url.pathname.replace(/\/$/, "");
  if (path === "") return ClientResource.options;
  const one = ClientResource.options.find((resource) => path === `/${resource}`);
  return one === undefined ? null : [one];
}
