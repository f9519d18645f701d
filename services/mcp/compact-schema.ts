import { z } from "zod";

type Json = Record<string, unknown>;

/**
 * A schema as a list of tools carries it, in every request of an agent: what its members are called and what kind they
 * are. Patterns of ids and bounds of numbers and texts stay out; they are checked, and named where they are not kept.
 * A member has one `type` at a time: some models' providers take no list of them.
 */
export function inputSchema(schema: z.ZodObject): Json {
  return { ...(withSingleTypes(shape(schema, "input", keepNeeded)) as Json), additionalProperties: false };
}

/** Members of an answer with all that they hold. Nothing is required, since a refusal is an answer, too. */
export function outputSchema(schema: z.ZodObject): Json {
  const { required: _, additionalProperties: __, ...rest } = shape(schema, "output", keepNeeded);
  return { ...rest, properties: { ...(rest.properties as Json), error: { type: "object" } } };
}

/** Members of an answer by their kind alone. */
export function shallowOutputSchema(schema: z.ZodObject): Json {
  const { properties } = shape(schema, "output", keepNeeded);
  const flat = Object.entries(properties as Record<string, Json>).map(([name, member]) => [name, flatten(member)]);
  return { type: "object", properties: Object.fromEntries(flat) };
}

function shape(schema: z.ZodObject, io: "input" | "output", keep: (node: Json) => void): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    reused: "inline",
    override: ({ jsonSchema }) => keep(jsonSchema as Json),
  }) as Json;
  return json;
}

const leftOut = ["pattern", "format", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "additionalProperties"];

function keepNeeded(node: Json): void {
  for (const name of leftOut) delete node[name];
  // `a or null` in the short form that says the same.
  const either = node.anyOf as Json[] | undefined;
  if (either?.length !== 2) return;
  const some = either.find((one) => one.type !== "null");
  if (some === undefined || either.every((one) => one.type !== "null") || typeof some.type !== "string" || "enum" in some) return;
  delete node.anyOf;
  Object.assign(node, some, { type: [some.type, "null"] });
}

function withSingleTypes(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withSingleTypes);
  if (node === null || typeof node !== "object") return node;
  const members = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, withSingleTypes(value)]));
  const { type, ...rest } = members as Json;
  return Array.isArray(type) ? { ...rest, anyOf: type.map((one) => ({ type: one })) } : members;
}

function flatten(member: Json): Json {
  return "type" in member ? { type: member.type } : {};
}
