import { v7 } from "uuid";
import type { ThreadBundle } from "../../schemas/bundle.ts";
import type { LocalClient } from "../http/client.ts";
import { looksLikeBundle, readBundle } from "../runtime/bundles/text.ts";
import { badInput, CliFailure, exitOf } from "./failure.ts";
import { during } from "./progress.ts";
import { resolveProject } from "./references.ts";
import type { Shell } from "./shell.ts";

const notForBundles = ["to", "thread", "prompt", "handoff", "with", "title"] as const;
type Options = { project?: string; again?: boolean } & { [name in (typeof notForBundles)[number]]?: unknown };

/** Imports the bundle that a text is, looked at byte for byte before anything is sent; null for a text that is none. */
export async function importBundleText(shell: Shell, client: LocalClient, text: string, options: Options): Promise<"imported" | null> {
  if (!looksLikeBundle(text)) return null;
  const given = notForBundles.find((name) => options[name] !== undefined);
  if (given !== undefined)
    throw badInput(
      "not_with_a_bundle",
      `--${given} does not go with a bundle`,
      "A bundle is imported as it is; send to the thread afterwards.",
    );
  const read = readBundle(text);
  if (!read.ok) throw new CliFailure(read.refusal, exitOf(read.refusal));
  const bundle: ThreadBundle = read.bundle;
  const projectId = options.project === undefined ? undefined : await resolveProject(client, options.project);
  const { result, commit, repeated } = await during(
    "importing",
    client.command(
      {
        type: "thread.import_bundle",
        bundle,
        ...(projectId !== undefined && { projectId }),
        ...(options.again === true && { again: v7() }),
      },
      shell.commandId(),
    ),
  );
  shell.answer({ ...result, commit, repeated }, () => result.threadId);
  if (!shell.json && !result.created) shell.note("it was imported before; nothing new was made");
  return "imported";
}
