import { z } from "zod";
import type { PublicCommand } from "../../schemas/command.ts";
import { CommandId } from "../../schemas/ids.ts";
import { commandResults } from "../../schemas/results.ts";

/** The receipt of an accepted command of each type. */
export const receipts: { readonly [type in PublicCommand["type"]]: z.ZodType } = Object.fromEntries(
  Object.entries(commandResults).map(([type, result]) => [
    type,
    z.object({
      ok: z.literal(true),
      commandId: CommandId,
      commit: z.number().int().nonnegative().meta({ description: "The commit that holds the whole effect." }),
      result,
      repeated: z.boolean().meta({ description: "True when this answer was stored by an earlier call." }),
    }),
  ]),
) as never;

const [first, second, ...more] = Object.values(receipts) as [z.ZodType, z.ZodType, ...z.ZodType[]];
export const AcceptedCommand = z.union([first, second, ...more]);
