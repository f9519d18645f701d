import { EnvironmentUnreachable } from "./failures.ts";
import { type Answered, type Call, joined, maxAnswerBytes, type Transport } from "./transport.ts";

export type UrlOptions = {
  /** What the program was given when it was let in; asked anew for each call where it is a function. */
  token?: string | (() => string | Promise<string>);
  /** Another `fetch` than the global one, e.g. of an application in this process. */
  fetch?: (request: Request) => Response | Promise<Response>;
};

/** Speaks to an environment at an http(s) address, by `fetch` alone: in Node as in a browser. */
export class UrlTransport implements Transport {
  readonly where: string;
  readonly #options: UrlOptions;
  readonly #ended = new AbortController();

  /** `url` with or without `/v1` at its end. */
  constructor(url: string | URL, options: UrlOptions = {}) {
    this.where = String(url).replace(/\/+$/, "").replace(/\/v1$/, "");
    this.#options = options;
  }

  close(): void {
    this.#ended.abort();
  }

  async call(what: Call): Promise<Answered> {
    try {
      return await this.#once(what);
    } catch (error) {
      // A connection that was kept open may have been closed meanwhile.
      if (!(error instanceof TypeError) || what.signal?.aborted === true) throw this.#told(error);
    }
    try {
      return await this.#once(what);
    } catch (error) {
      throw this.#told(error);
    }
  }

  async #once({ method, path, body, timeoutMs, signal }: Call): Promise<Answered> {
    const { token, fetch = (request) => globalThis.fetch(request) } = this.#options;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Late(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
    const signals = [this.#ended.signal, late.signal, ...(signal === undefined ? [] : [signal])];
    try {
      const bearer = typeof token === "function" ? await token() : token;
      const request = new Request(`${this.where}/v1${path}`, {
        method,
        headers: {
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body }),
        redirect: "error",
        signal: AbortSignal.any(signals),
      });
      return this.#answered(await fetch(request), late);
    } finally {
      clearTimeout(timer);
    }
  }

  #answered(response: Response, controller: AbortController): Answered {
    return {
      status: response.status,
      bytes: async () => {
        const chunks: Uint8Array[] = [];
        let size = 0;
        try {
          for await (const chunk of chunksOf(response)) {
            size += chunk.byteLength;
            if (size > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
            chunks.push(chunk);
          }
        } catch (error) {
          throw this.#told(error);
        }
        return joined(chunks, size);
      },
      async *pieces() {
        const decoder = new TextDecoder();
        try {
          for await (const chunk of chunksOf(response)) yield decoder.decode(chunk, { stream: true });
        } catch {
          // Broken off: the caller comes back for the rest.
        }
      },
      drop: () => controller.abort(),
    };
  }

  #told(error: unknown): Error {
    if (error instanceof DOMException && error.name === "AbortError") return error;
    const { message, cause } = error as Error;
    const why = cause instanceof Error && cause.message !== "" ? cause.message : message;
    return new EnvironmentUnreachable(this.where, `the environment at ${this.where} did not answer (${why})`, { cause: error });
  }
}

class Late extends Error {
  override readonly name = "Late";
}

/** Not every browser's streams can be iterated. */
async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}
