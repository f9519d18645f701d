import { Hono } from "hono";

/** `POST /shutdown`: ends the environment cleanly, after this answer. */
export function shutdownRoutes(shutdown: () => void): Hono {
  return new Hono().post("/shutdown", (c) => {
    setImmediate(shutdown);
    return c.json({ ok: true, pid: process.pid });
  });
}
