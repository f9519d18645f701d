import { z } from "zod";
import type { PublicCommand } from "../../schemas/command.ts";
import { packageVersion } from "../runtime/version.ts";
import { Problem, problemMediaType } from "./problem.ts";
import { receipts } from "./receipts.ts";
import type { Route } from "./route.ts";
import { vocabulary } from "./vocabulary.ts";

type Json = { [member: string]: unknown };
const at = "#/components/schemas/";
const base = "/v1";

/**
 * The API as an OpenAPI 3.1 document, from the routes' declarations: Zod's own JSON Schema, with the vocabulary's names as
 * components. `exact` says of every record that nothing else is in it, which is true of this version and not promised.
 */
export function openApiDocument(routes: readonly Route[], { exact = false } = {}): Json {
  const schemas = schemasOf(routes, exact);
  return {
    openapi: "3.1.1",
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    info: {
      title: "ropewalk",
      version: packageVersion(),
      summary: "One environment: its threads, runs, transfers, tasks and links.",
      description: aboutAll,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "where the document was read; on the machine itself also the socket in the environment's folder" }],
    tags: [...new Set(routes.map(({ about }) => about))].map((name) => ({ name })),
    paths: pathsOf(routes, schemas),
    components: {
      schemas: schemas.components,
      responses: {
        Problem: {
          description: "Why it was refused (RFC 9457), and what to do about it.",
          content: { [problemMediaType]: { schema: { $ref: `${at}Problem` } } },
        },
      },
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "A client's token, or that of a thread's own agent. None on the unix socket.",
        },
      },
    },
    security: [{}, { bearer: [] }],
  };
}

const aboutAll = `Reads answer with \`{commit, …}\`: the state at that commit, after which the feed goes on. Listings come in pages: \`next\` of
one is \`cursor\` of the next, and a page may be shorter than its \`limit\`. Whatever is refused is answered with problem
details, whose \`code\` is one of a closed set; \`reason\` names the case, \`hint\` says what to do.`;

type Schemas = { components: Json; of(schema: z.ZodType): Json };

/** Every schema that the document needs, in one conversion, so that they can refer to each other. */
function schemasOf(routes: readonly Route[], exact: boolean): Schemas {
  const registry = z.registry<{ id: string }>();
  const ids = new Map<z.ZodType, string>();
  const add = (schema: z.ZodType, id: string) => {
    if (ids.has(schema)) return;
    ids.set(schema, id);
    registry.add(schema, { id });
  };
  for (const [name, schema] of Object.entries(vocabulary)) add(schema, name);
  add(Problem, "Problem");
  for (const [type, schema] of Object.entries(receipts)) add(schema, receiptName(type as PublicCommand["type"]));
  for (const route of routes) {
    if (route.body !== undefined) add(route.body, `${capital(route.name)}Body`);
    if ("schema" in route.answer) add(route.answer.schema, `${capital(route.name)}Answer`);
    for (const [name, schema] of parametersOf(route)) add(schema, `${capital(route.name)}${capital(name)}`);
  }
  const made = z.toJSONSchema(registry, {
    uri: (id) => `${at}${id}`,
    unrepresentable: "any",
    io: "input",
    override: exact ? closed : () => {},
  }).schemas as Record<string, Json>;
  const bare = (id: string): Json => {
    const { $schema: _dialect, $id: _id, ...schema } = made[id] as Json;
    return schema;
  };
  // What only one parameter has stands where it is.
  const shared = new Set([...Object.keys(vocabulary), ...Object.values(made).flatMap(refsIn)]);
  const parameters = new Set(routes.flatMap(parametersOf).map(([, schema]) => schema));
  const inline = new Set([...ids].flatMap(([schema, id]) => (parameters.has(schema) && !shared.has(id) ? [id] : [])));
  const components = Object.fromEntries([...ids.values()].filter((id) => !inline.has(id)).map((id) => [id, bare(id)]));
  const of = (schema: z.ZodType): Json => {
    const id = ids.get(schema) as string;
    return inline.has(id) ? bare(id) : { $ref: `${at}${id}` };
  };
  return { components: onlyUsed(components, routes, of), of };
}

function closed({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: Json }): void {
  const { def } = zodSchema._zod;
  if (def.type === "object" && (def as z.core.$ZodObjectDef).catchall === undefined) jsonSchema.additionalProperties = false;
}

/** The vocabulary is larger than what the routes speak of. */
function onlyUsed(components: Json, routes: readonly Route[], of: Schemas["of"]): Json {
  const used = new Set<string>();
  const look = (value: unknown): void => {
    for (const id of refsIn(value)) {
      if (used.has(id)) continue;
      used.add(id);
      look(components[id] ?? {});
    }
  };
  look([{ $ref: `${at}Problem` }, ...routes.flatMap((route) => schemasIn(route).map(of))]);
  for (const type of Object.keys(receipts)) look({ $ref: `${at}${receiptName(type as PublicCommand["type"])}` });
  return Object.fromEntries(Object.entries(components).filter(([id]) => used.has(id)));
}

const refsIn = (value: unknown): string[] =>
  [...JSON.stringify(value).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, id = ""]) => id);

function schemasIn(route: Route): z.ZodType[] {
  return [
    ...(route.body === undefined ? [] : [route.body]),
    ...("schema" in route.answer ? [route.answer.schema] : []),
    ...parametersOf(route).map(([, schema]) => schema),
  ];
}

function pathsOf(routes: readonly Route[], schemas: Schemas): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = `${base}${route.path.replaceAll(/:(\w+)/g, "{$1}")}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, schemas) };
  }
  return paths;
}

function operationOf(route: Route, schemas: Schemas): Json {
  return {
    operationId: route.name,
    tags: [route.about],
    summary: route.summary,
    description: accessText(route.access),
    "x-access": route.access,
    ...(route.access === "nothing" && { security: [{}] }),
    ...(parametersOf(route).length > 0 && { parameters: parametersIn(route, schemas) }),
    ...(route.body !== undefined && {
      requestBody: { required: true, content: { "application/json": { schema: schemas.of(route.body) } } },
    }),
    // What each command answers, by its type: OpenAPI itself cannot tie an answer to a member of its request.
    ...(route.access === "by_command" && {
      "x-receipts": Object.fromEntries(
        Object.keys(receipts).map((type) => [type, { $ref: `${at}${receiptName(type as PublicCommand["type"])}` }]),
      ),
    }),
    responses: responsesOf(route, schemas),
  };
}

function accessText(access: Route["access"]): string {
  if (access === "nothing") return "Anybody may ask this.";
  return access === "by_command" ? "Needs the access of its command (docs/access.md)." : `Needs the access \`${access}\` (docs/access.md).`;
}

type Parameter = [name: string, schema: z.ZodType, place: "path" | "query"];
function parametersOf({ params, query }: Route): Parameter[] {
  return [
    ...Object.entries((params ?? {}) as z.ZodRawShape).map(([name, schema]): Parameter => [name, schema as z.ZodType, "path"]),
    ...Object.entries((query ?? {}) as z.ZodRawShape).map(([name, schema]): Parameter => [name, schema as z.ZodType, "query"]),
  ];
}

function parametersIn(route: Route, schemas: Schemas): Json[] {
  return parametersOf(route).map(([name, schema, place]) => {
    const { description, ...said } = schemas.of(schema);
    const required = place === "path" || !schema.safeParse(undefined).success;
    return { name, in: place, required, ...(description !== undefined && { description }), schema: said };
  });
}

function responsesOf({ answer, params, access }: Route, schemas: Schemas): Json {
  const problem = { $ref: "#/components/responses/Problem" };
  const range = answer.kind === "bytes";
  return {
    200: { description: "What was asked for.", ...contentOf(answer, schemas) },
    ...(range && { 206: { description: "The part that `Range` asks for.", ...contentOf(answer, schemas) } }),
    400: problem,
    ...(access !== "nothing" && { 401: problem, 403: problem }),
    ...(params !== undefined && { 404: problem }),
    ...(range && { 416: problem }),
    default: problem,
  };
}

function contentOf(answer: Route["answer"], schemas: Schemas): Json {
  if (answer.kind === "bytes") return { content: { [answer.mediaType]: {} } };
  const type = answer.kind === "json" ? "application/json" : "application/x-ndjson";
  return { content: { [type]: { schema: schemas.of(answer.schema) } } };
}

const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
/** `thread.merge_back` as `ThreadMergeBackReceipt`. */
const receiptName = (type: PublicCommand["type"]) => `${type.split(/[._]/).map(capital).join("")}Receipt`;
