import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerContext,
  type ServerOptions,
} from "@modelcontextprotocol/server";
import { ToolRefused, toldOf } from "./refused.ts";

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/**
 * The library's server, but for what it answers to an error: what came wrong is the sender's fault and never an internal
 * one, a refusal is told as the protocol's own error, and of a fault of ours nothing is told but that there was one.
 */
export class ProtocolServer extends Server {
  readonly #onError: (error: unknown) => void;

  constructor(info: { name: string; title: string; version: string }, options: ServerOptions, onError: (error: unknown) => void) {
    super(info, options);
    this.#onError = onError;
  }

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, handler);
    return async (request, context) => {
      try {
        return await wrapped(request, context);
      } catch (error) {
        throw this.#asProtocol(method, error);
      }
    };
  }

  #asProtocol(method: string, error: unknown): ProtocolError {
    if (error instanceof ProtocolError) return error;
    if (isOfUnreadParams(error)) return new ProtocolError(ProtocolErrorCode.InvalidParams, `${method}: ${error.message}`);
    if (!(error instanceof ToolRefused)) this.#onError(error);
    const { code, reason, message, hint } = toldOf(error);
    const fault = code === "orchestration_error" ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
    return new ProtocolError(fault, `${message} ${hint}`, { code, reason, hint });
  }
}

/** The library throws a bare error, whose message is a list of what is wrong with the parameters. */
function isOfUnreadParams(error: unknown): error is Error {
  return error instanceof Error && error.constructor === Error && error.message.startsWith("[");
}
