import fc from "fast-check";
import { generateSync } from "json-schema-faker";
import { type IdPool, type Json, nonsense } from "./fuzzed.ts";
import type { DescribedApi, Operation } from "./openapi.ts";

export type ApiRequest = { method: string; path: string; headers: Record<string, string>; body: string | Uint8Array | null };
type Schema = Parameters<typeof generateSync>[0];
type Parameter = NonNullable<Operation["parameters"]>[number];

/**
 * Requests for an API as its document describes it, mostly about things that are there; then wrong in some places: another
 * method, a broken path, unknown and repeated parameters, bodies that are huge, deep, cut off, of another type or encoding.
 */
export function apiRequests(api: DescribedApi, pool: IdPool): fc.Arbitrary<ApiRequest> {
  const schemas = new Schemas(api, pool);
  const operations = api.operations.map((operation) => requestsFor(operation, schemas));
  // There is one way to change anything, and it takes all the commands.
  const posts = api.operations.filter(([method]) => method === "POST").map((operation) => requestsFor(operation, schemas));
  return fc.oneof({ weight: 3, arbitrary: fc.oneof(...operations) }, { weight: 2, arbitrary: fc.oneof(...posts) });
}

/** `each` requests for every operation, and twenty times as many commands. */
export function requestsForAll(api: DescribedApi, pool: IdPool, each: number): ApiRequest[] {
  const schemas = new Schemas(api, pool);
  return api.operations.flatMap((described) =>
    fc.sample(requestsFor(described, schemas), described[2].operationId === "sendCommand" ? each * 20 : each),
  );
}

function requestsFor([method, path, operation]: DescribedApi["operations"][number], schemas: Schemas): fc.Arbitrary<ApiRequest> {
  return fc
    .record({
      method: mostly(method, ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND"]),
      path: pathOf(path, operation, schemas),
      query: queryOf(path, operation, schemas),
      headers: headersOf(operation),
      body: bodyOf(operation, schemas),
    })
    .map(({ query, ...request }) => ({ ...request, path: query === "" ? request.path : `${request.path}?${query}` }));
}

const mostly = <T>(usual: T, others: readonly T[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

/** Values of the document's schemas, with ids of things that are there in place of made-up ones. */
class Schemas {
  readonly #api: DescribedApi;
  readonly #pool: IdPool;
  readonly #asked = new Map<object, object>();

  constructor(api: DescribedApi, pool: IdPool) {
    this.#api = api;
    this.#pool = pool;
  }

  values(schema: object): fc.Arbitrary<Json> {
    // Small seeds are no simpler than others, and would come again and again.
    const made = fc.noBias(fc.nat()).map((seed) => generateSync(this.#whole(schema) as Schema, options(seed)) as Json);
    return fc.tuple(made, fc.infiniteStream(fc.noBias(fc.nat(9)))).map(([value, picks]) => this.#named(value, picks));
  }

  /** With the components beside it, where its references lead, and shorter than the largest that would be taken. */
  #whole(schema: object): object {
    const known = this.#asked.get(schema);
    if (known !== undefined) return known;
    const shorter = (key: string, value: unknown) => ((key === "maxLength" || key === "maxItems") && (value as number) > 20 ? 20 : value);
    const whole = JSON.parse(JSON.stringify({ ...schema, components: { schemas: this.#api.document.components.schemas } }, shorter));
    this.#asked.set(schema, whole);
    return whole;
  }

  #named(value: Json, picks: fc.Stream<number>): Json {
    if (Array.isArray(value)) return value.map((element) => this.#named(element, picks));
    if (value !== null && typeof value === "object")
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [
          name,
          // A made-up provider would refuse nearly all that is otherwise fine.
          name === "instance" && (picks.next().value ?? 0) > 1 ? "p1" : this.#named(member, picks),
        ]),
      );
    const noun = typeof value === "string" ? /^([a-z]+):/.exec(value)?.[1] : undefined;
    if (noun === undefined) return value;
    const pick = picks.next().value ?? 0;
    // Few different ones, so that the same one meets another command.
    if (noun === "cmd") return `cmd:fuzz:${pick}${picks.next().value ?? 0}`;
    const ids = this.#pool[noun] ?? [];
    return pick < 2 || ids.length === 0 ? value : (ids[pick % ids.length] as string);
  }
}

const options = (seed: number) => ({ seed, optionalsProbability: 0.25, maxItems: 3, maxDepth: 8 });

function pathOf(template: string, operation: Operation, schemas: Schemas): fc.Arbitrary<string> {
  const parameters = (operation.parameters ?? []).filter((one) => one.in === "path");
  const filled = fc
    .record(Object.fromEntries(parameters.map((one) => [one.name, parameterValue(one, schemas)])))
    .map((values) => template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? "")));
  return fc.oneof(
    { weight: 15, arbitrary: filled },
    {
      weight: 1,
      arbitrary: filled.chain((path) =>
        fc.constantFrom(
          `${path}/`,
          `/${path}`,
          path.toUpperCase(),
          `${path}/..`,
          `${path}%`,
          `${path}%00`,
          path.slice(0, -1),
          `${path}/%2e%2e/x`,
          "/",
          "/v1",
          "/v1/",
        ),
      ),
    },
  );
}

function queryOf(path: string, operation: Operation, schemas: Schemas): fc.Arbitrary<string> {
  const parameters = (operation.parameters ?? []).filter((one) => one.in === "query");
  const wanted = parameters.filter((one) => one.name !== "timeoutMs");
  const given = fc.record(Object.fromEntries(wanted.map((one) => [one.name, parameterValue(one, schemas)])), {
    requiredKeys: wanted.filter((one) => one.required).map((one) => one.name),
  });
  // Who names no time waits for the usual one, which is too long here.
  const wait = path.endsWith("/wait") ? ["timeoutMs=3"] : [];
  const parts = given.map((values) => [
    ...Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value ?? "")}`),
    ...wait,
  ]);
  const odd = fc.constantFrom(
    "unknown=1",
    "limit=1&limit=2",
    "=",
    "&&",
    "%zz=%",
    "__proto__=1",
    "cursor=",
    `ref=${"9".repeat(3_000)}`,
    "after=1e3",
  );
  return fc.tuple(parts, fc.option(odd, { freq: 8 })).map(([all, more]) => [...all, ...(more === null ? [] : [more])].join("&"));
}

function parameterValue({ schema }: Parameter, schemas: Schemas): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 10, arbitrary: schemas.values(schema).map(asText) },
    // Longer ones are refused before any route is asked.
    { weight: 1, arbitrary: fc.constantFrom(...nonsense).map((value) => asText(value).slice(0, 2_000)) },
    { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 30 }) },
  );
}

const asText = (value: Json): string => (typeof value === "string" ? (value.isWellFormed() ? value : "?") : JSON.stringify(value));

function headersOf(operation: Operation): fc.Arbitrary<Record<string, string>> {
  const type = operation.requestBody === undefined ? fc.constant({}) : contentTypes.map((value) => ({ "content-type": value }));
  const odd = fc.record(
    {
      range: fc.oneof(
        fc.constantFrom("bytes=0-", "bytes=-1", "bytes=9-2", "bytes=0-0,2-3", "bytes=99999999999999-", "lines=1", "bytes=a-b"),
        fc.stringMatching(/^bytes=\d{0,20}-\d{0,20}$/),
      ),
      "if-range": fc.constantFrom('"x"', "x", ""),
      accept: fc.constantFrom("text/html", "*/*", "application/xml;q=0.9", ""),
      "content-encoding": fc.constantFrom("gzip", "br", "identity", "x-unknown"),
      authorization: fc.constantFrom("Bearer", "Bearer x y", "Basic eDp5", ""),
      "x-http-method-override": fc.constant("DELETE"),
      "accept-encoding": fc.constantFrom("gzip", "br;q=0", "*"),
      "ropewalk-access": fc.constantFrom("reads", "everything"),
      cookie: fc.string({ unit: fc.constantFrom("a", "=", ";", " "), maxLength: 2_000 }),
    },
    { requiredKeys: [] },
  );
  return fc.tuple(type, fc.option(odd, { freq: 3, nil: {} })).map(([one, more]) => ({ ...more, ...one }));
}

const contentTypes = mostly("application/json", [
  "application/json; charset=utf-8",
  "text/plain",
  "application/xml",
  "multipart/form-data; boundary=x",
  "APPLICATION/JSON",
  "application/problem+json",
  "x",
  "",
]);

function bodyOf(operation: Operation, schemas: Schemas): fc.Arbitrary<string | Uint8Array | null> {
  const content = Object.values(operation.requestBody?.content ?? {})[0];
  if (content?.schema === undefined)
    return fc.oneof(
      { weight: 9, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constantFrom("{}", "[", new Uint8Array([0, 255])) },
    );
  const given = schemas.values(content.schema);
  const wronged = fc.tuple(given, fc.array(fc.tuple(fc.nat(), fc.constantFrom(...nonsense)), { minLength: 1, maxLength: 2 }));
  const text = (value: Json) => JSON.stringify(value);
  return fc.oneof(
    { weight: 6, arbitrary: given.map(text) },
    { weight: 6, arbitrary: wronged.map(([value, places]) => text(places.reduce(withSomethingElse, value))) },
    { weight: 1, arbitrary: given.map((value) => text(value).slice(0, -3)) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }).map((value) => text(value as Json)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "",
        "[".repeat(200_000),
        `{"command":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}`,
        `{"id":"cmd:x","command":{"type":"thread.create","title":"${"x".repeat(2_000_000)}"}}`,
        `{"id":"cmd:x","command":{"type":"thread.create","title":"\\ud800"}}`,
        `{"id":"cmd:x","id":"cmd:y","command":{"type":"thread.create","type":"thread.delete"}}`,
        `{"__proto__":{"x":1},"command":{"type":"thread.create","__proto__":{"title":7}}}`,
        `\ufeff{"command":{"type":"thread.create"}}`,
        `{"command":{"type":"thread.create","title":1e999}}`,
      ),
    },
  );
}

/** The same with something else in one place, anywhere in it. */
function withSomethingElse(value: Json, [place, something]: [number, Json]): Json {
  const places = countOf(value);
  let left = place % places;
  const walk = (at: Json): Json => {
    if (left-- === 0) return something;
    if (Array.isArray(at)) return at.map(walk);
    if (at === null || typeof at !== "object") return at;
    return Object.fromEntries(Object.entries(at).map(([name, member]) => [name, walk(member)]));
  };
  return walk(value);
}

function countOf(value: Json): number {
  if (value === null || typeof value !== "object") return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + countOf(member as Json), 1);
}
