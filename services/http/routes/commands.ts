import { z } from "zod";
import { PublicCommand } from "../../../schemas/command.ts";
import { CommandId } from "../../../schemas/ids.ts";
import type { Environment } from "../../runtime/environment-api.ts";
import { readBytes } from "../body.ts";
import { faultIn, Incident } from "../incident.ts";
import { problemResponse } from "../problem.ts";
import { AcceptedCommand } from "../receipts.ts";
import { type Route, route } from "../route.ts";

const SentCommand = z.strictObject({
  id: CommandId.optional().meta({ description: "Makes a repeat safe. Leave it out only where a second time would do no harm." }),
  command: PublicCommand,
});

export type CommandSettings = { maxBodyBytes: number; onIncident: (incident: Incident) => void };

/** `POST /commands`: the one door. Answers with the receipt, or with the problem that its refusal is. */
export function commandRoutes(environment: Environment, { maxBodyBytes, onIncident }: CommandSettings): Route[] {
  return [
    route({
      method: "POST",
      path: "/commands",
      name: "sendCommand",
      about: "commands",
      summary: "Sends one command. The same id again does nothing and answers with the stored receipt.",
      access: "by_command",
      body: SentCommand,
      answer: { kind: "json", schema: AcceptedCommand },
      refuses: ["invalid_request", "thread_not_found", "run_not_found", "task_not_found", "idempotency_conflict"],
      async handle({ caller, request }) {
        const receipt = await environment.dispatchText(await readBytes(request, maxBodyBytes), { caller });
        if (receipt.ok) return receipt as z.input<typeof AcceptedCommand>;
        const { refusal, commandId, repeated } = receipt;
        const fault = faultIn(refusal);
        if (fault === null) return problemResponse(refusal, { commandId, repeated });
        const incident = new Incident(request, fault);
        onIncident(incident);
        return problemResponse(incident.refusal, { commandId, repeated });
      },
    }),
  ];
}
