import { type Refusal, refusal } from "../../../schemas/refusal.ts";

const protocols = new Set(["nats:", "tls:"]);

/** Why an address cannot be one of a NATS server; several of a cluster are separated by commas. */
export function brokerProblem(url: string): Refusal | null {
  const wrong = url.split(",").find((one) => !isServer(one.trim()));
  if (wrong === undefined) return null;
  return refusal("invalid_request", "bad_broker", `"${wrong}" is no address of a NATS server`, "Say it like nats://broker.example:4222");
}

/** True when it leads to the machine that it is read on, whichever that is. */
export function isThisMachine(url: string): boolean {
  const hosts = url.split(",").map((one) => new URL(one.trim()).hostname);
  return hosts.every((host) => host === "localhost" || host === "[::1]" || /^127\./.test(host));
}

function isServer(url: string): boolean {
  return URL.canParse(url) && protocols.has(new URL(url).protocol) && new URL(url).hostname !== "";
}
