import { ShutdownAnswer } from "../answers.ts";
import { type Route, route } from "../route.ts";

/** `POST /shutdown`: only where whoever serves the environment hands in how to end it, which is on the socket. */
export function shutdownRoutes(shutdown: () => void): Route[] {
  return [
    route({
      method: "POST",
      path: "/shutdown",
      name: "shutdown",
      about: "environment",
      summary: "Ends the environment cleanly, after this answer. On the unix socket only.",
      access: "writes_environment",
      answer: { kind: "json", schema: ShutdownAnswer },
      handle() {
        setImmediate(shutdown);
        return { ok: true, pid: process.pid };
      },
    }),
  ];
}
