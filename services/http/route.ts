import type { z } from "zod";
import type { AccessKind } from "../../schemas/access.ts";
import type { Caller } from "../../schemas/command.ts";
import type { RefusalCode } from "../../schemas/refusal.ts";

/** What a handler is given: the checked input and who asks. */
type Asked<P extends z.ZodRawShape, Q extends z.ZodRawShape> = {
  params: z.output<z.ZodObject<P, z.core.$strict>>;
  query: z.output<z.ZodObject<Q, z.core.$strict>>;
  caller: Caller;
  /** For its headers and its body, which the route reads itself. */
  request: Request;
};

/** What a route answers when all is well. */
type Answer<A extends z.ZodType = z.ZodType> =
  | { kind: "json"; schema: A }
  /** Lines of JSON, each of the schema, for as long as the connection is open. */
  | { kind: "lines"; schema: A }
  /** Bytes as they are kept, whole or in part. */
  | { kind: "bytes"; mediaType: string };

export type RouteSpec<P extends z.ZodRawShape, Q extends z.ZodRawShape, A extends z.ZodType> = {
  method: "GET" | "POST";
  /** Below `/v1`, with parameters as `:name`. */
  path: string;
  /** Name of the operation in the document and of what programs are generated from it. */
  name: string;
  /** The chapter of the document. */
  about: string;
  summary: string;
  /** What the caller must be let to do; `by_command`: the runtime asks for each command; `nothing`: anybody may. */
  access: AccessKind | "by_command" | "nothing";
  params?: P;
  query?: Q;
  /** What is sent, as the document says it; the route reads the body itself. */
  body?: z.ZodType;
  answer: Answer<A>;
  /** Codes that it refuses with beyond those of every route; `not_found` where a record is named. */
  refuses?: readonly (RefusalCode | "not_found")[];
  handle(asked: Asked<P, Q>): z.input<A> | Response | Promise<z.input<A> | Response>;
};

/** A declared route, whatever its schemas are. */
// biome-ignore lint/suspicious/noExplicitAny: a table of routes holds handlers of every input
export type Route = RouteSpec<any, any, any>;

/** Declares a route: its handler is typed by its schemas. */
export function route<
  const P extends z.ZodRawShape = Record<never, never>,
  const Q extends z.ZodRawShape = Record<never, never>,
  A extends z.ZodType = z.ZodType,
>(spec: RouteSpec<P, Q, A>): Route {
  return spec;
}
