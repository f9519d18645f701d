import fc from "fast-check";
import type { z } from "zod";

type Def = {
  type: string;
  format?: string;
  shape?: Record<string, z.ZodType>;
  values?: unknown[];
  entries?: Record<string, unknown>;
  innerType?: z.ZodType;
  element?: z.ZodType;
  options?: z.ZodType[];
  items?: z.ZodType[];
  keyType?: z.ZodType;
  valueType?: z.ZodType;
  checks?: { _zod: { def: { pattern?: RegExp } } }[];
};

/** Two, one of them rare, so that events mostly name what is there already; a machine makes ids from them too. */
const uuids = fc.oneof(
  { weight: 5, arbitrary: fc.constant("00000000-0000-7000-8000-000000000001") },
  { weight: 1, arbitrary: fc.constant("00000000-0000-7000-8000-000000000002") },
);

/** Values of a schema, small ones: what the machines' events and contexts are made of. */
export function arbitraryOf(schema: z.ZodType): fc.Arbitrary<unknown> {
  const def = schema._zod.def as unknown as Def;
  switch (def.type) {
    case "object":
      return fc.record(mapValues(def.shape ?? {}, arbitraryOf), { requiredKeys: requiredOf(def.shape ?? {}) });
    case "literal":
      return fc.constantFrom(...(def.values ?? []));
    case "enum":
      return fc.constantFrom(...Object.values(def.entries ?? {}));
    case "string":
      return stringOf(def);
    case "number":
      return fc.integer({ min: 1, max: 3 });
    case "boolean":
      return fc.boolean();
    case "unknown":
      return fc.constant("anything");
    case "nullable":
      return fc.option(arbitraryOf(def.innerType as z.ZodType), { nil: null });
    case "optional":
      return arbitraryOf(def.innerType as z.ZodType);
    case "array":
      return fc.array(arbitraryOf(def.element as z.ZodType), { maxLength: 2 });
    case "union":
      return fc.oneof(...(def.options ?? []).map(arbitraryOf));
    case "tuple":
      return fc.tuple(...(def.items ?? []).map(arbitraryOf));
    case "record":
      return fc.dictionary(arbitraryOf(def.keyType as z.ZodType) as fc.Arbitrary<string>, arbitraryOf(def.valueType as z.ZodType), {
        maxKeys: 2,
      });
    default:
      throw new Error(`no values are known for a schema of type ${def.type}`);
  }
}

function stringOf({ format, checks = [] }: Def): fc.Arbitrary<string> {
  if (format === "uuid") return uuids;
  const pattern = checks.map((check) => check._zod.def.pattern?.source).find((source) => source !== undefined);
  if (pattern === undefined) return fc.constantFrom("a", "b");
  const noun = /^\^([a-z]+):/.exec(pattern)?.[1];
  if (noun !== undefined) return uuids.map((uuid) => `${noun}:${uuid}`);
  if (pattern.includes("{64}")) return fc.constant("0".repeat(64));
  return fc.constantFrom("p1", "p2");
}

const requiredOf = (shape: Record<string, z.ZodType>) =>
  Object.entries(shape).flatMap(([key, schema]) => ((schema._zod.def as unknown as Def).type === "optional" ? [] : [key])) as never[];

function mapValues<A, B>(record: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
