import { Hono } from "hono";
import { z } from "zod";
import type { Receipt } from "../../../schemas/command.ts";
import { CommandId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { readJson } from "../body.ts";
import { parsed } from "../input.ts";
import { statusOf } from "../statuses.ts";

/** The command itself is checked by the runtime, which knows them all. */
const Envelope = z.strictObject({ id: CommandId, command: z.unknown() });

/** `POST /commands`: the one door. Answers with the receipt; a refused one with the status of its refusal. */
export function commandRoutes(environment: Environment, maxBodyBytes: number): Hono {
  return new Hono().post("/commands", async (c) => {
    const { id, command } = parsed(Envelope, await readJson(c.req.raw, maxBodyBytes), "body");
    const receipt: Receipt = await environment.dispatch(command, { id });
    return c.json(receipt, receipt.ok ? 200 : statusOf(receipt.refusal));
  });
}
