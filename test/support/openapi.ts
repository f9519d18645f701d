import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { documentedRoutes } from "../../deploy/setup/openapi.ts";
import { openApiDocument } from "../../services/http/openapi.ts";

type Content = Record<string, { schema?: { $ref: string } }>;
type Response = { content?: Content; $ref?: string };
export type Operation = {
  operationId: string;
  parameters?: { name: string; in: "path" | "query"; required: boolean; schema: object }[];
  requestBody?: { content: Content };
  responses: Record<string, Response>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; responses: Record<string, Response> };
};

/** What a program was answered. `body` is its text. */
export type Answered = { method: string; path: string; status: number; type: string | null; body: string };

/** The API's document, and a check of answers against it by a validator of JSON Schema that knows nothing of Zod. */
export class DescribedApi {
  readonly document: Document;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });
  readonly #compiled = new Map<string, ValidateFunction>();

  /** `exact`: nothing is in an answer that the document does not name. */
  constructor({ exact = true } = {}) {
    this.document = openApiDocument(documentedRoutes(), { exact }) as Document;
    this.#ajv.addSchema({ $id: "http://api/", ...this.document });
  }

  /** Every operation, as `METHOD /path/{id}`. */
  get operations(): [method: string, path: string, operation: Operation][] {
    return Object.entries(this.document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]): [string, string, Operation] => [method.toUpperCase(), path, operation]),
    );
  }

  /** The operation that a request is for, or null where the document has none. */
  operationOf(method: string, path: string): Operation | null {
    const asked = new URL(path, "http://localhost").pathname;
    const template = Object.keys(this.document.paths).find((one) => new RegExp(`^${one.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(asked));
    return template === undefined ? null : (this.document.paths[template]?.[method.toLowerCase()] ?? null);
  }

  /** What is wrong with an answer; null when it is as the document says. */
  fault({ method, path, status, type, body }: Answered): string | null {
    const operation = this.operationOf(method === "HEAD" ? "GET" : method, path);
    const problem = this.document.components.responses.Problem as Response;
    if (operation === null && status < 400) return `${method} ${path} is answered with ${status}, and is not in the document`;
    const declared = operation?.responses[status] ?? operation?.responses.default ?? problem;
    if (status < 400 && operation?.responses[status] === undefined) return `${status} is not in the document`;
    const { content = {} } = declared.$ref === undefined ? declared : problem;
    const media = Object.keys(content).find((one) => one === type);
    if (media === undefined) return `${type} is none of ${Object.keys(content)}`;
    const schema = content[media]?.schema;
    if (schema === undefined || method === "HEAD") return null;
    const documents = media === "application/x-ndjson" ? body.split("\n").filter((line) => line !== "") : [body];
    return documents.map((text) => this.#invalid(schema.$ref, JSON.parse(text))).find((found) => found !== null) ?? null;
  }

  #invalid(ref: string, value: unknown): string | null {
    const validate = this.#compiled.get(ref) ?? this.#ajv.compile({ $ref: `http://api/${ref}` });
    this.#compiled.set(ref, validate);
    return validate(value) ? null : `${ref}: ${this.#ajv.errorsText(validate.errors)}: ${JSON.stringify(value).slice(0, 300)}`;
  }
}
