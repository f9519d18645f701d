/** An HTTP answer with a JSON-RPC error for a request that reaches no server. Names nothing of the inside. */
export function rpcError(
  status: number,
  code: number,
  message: string,
  more: { headers?: Record<string, string>; data?: object } = {},
): Response {
  const error = { code, message, ...(more.data !== undefined && { data: more.data }) };
  return new Response(JSON.stringify({ jsonrpc: "2.0", error, id: null }), {
    status,
    headers: { "content-type": "application/json", ...more.headers },
  });
}
