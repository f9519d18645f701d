import { Command, Option } from "commander";
import { v7 } from "uuid";
import type { ImportRequest } from "../../../schemas/import.ts";
import type { LocalClient } from "../../http/client.ts";
import type { SessionAgent } from "../../sessions/session.ts";
import { awaitLinkAnswer } from "../answer-outcome.ts";
import type { ExitCode } from "../exit-codes.ts";
import { badInput } from "../failure.ts";
import { providerChoice, resolve, resolvePeer, resolveProject } from "../references.ts";
import { awaitRun, type WaitOptions, waitBound } from "../run-outcome.ts";
import { type Given, online } from "../session.ts";
import { importSessions } from "../session-import.ts";
import type { Shell } from "../shell.ts";
import { parseJson, readText, textArgument } from "../text-input.ts";

type Options = WaitOptions & {
  to?: string;
  thread?: string;
  prompt?: string;
  handoff?: string;
  with?: string;
  project?: string;
  title?: string;
  from?: SessionAgent;
  again?: boolean;
};

export function importCommand(): Command {
  return new Command("import")
    .description(
      "make threads of messages (JSON as the contract has it), of an exported thread, or of an agent's sessions; the same again makes nothing new",
    )
    .argument(
      "[file...]",
      "the JSON, or what ropewalk export has written (- reads it from standard input); with --from: session files, or folders with all below them",
    )
    .addOption(
      new Option("--from <agent>", "import sessions that this program left; their files stay as they are").choices(["codex", "claude"]),
    )
    .option(
      "--again",
      "a bundle that was imported before, as another thread; with --from: also sessions that have gone on since they were imported, or whose thread was deleted, as new threads",
    )
    .option("--to <environment>", "import it at a linked environment (the link's name, or an id)")
    .option("--thread <thread>", "with --to: a thread of this environment instead of a file")
    .option("--prompt <text>", "what to go on with there; - reads it from standard input")
    .option("--handoff <id>", "with --thread: the key of this import, so that a repeat makes nothing new")
    .option("--with <instance[:model]>", "who is to serve it")
    .option("--project <project>", "where it works (id, name or path)")
    .option("--title <title>", "what to call it")
    .option("--wait", "wait for the answer to the prompt and print it")
    .option("--no-wait", "with --to: do not wait for what the other environment answers")
    .option("--timeout <duration>", "how long to wait, like 90s or 5m (exit code 5 then; it goes on)")
    .action(
      online<Options>((shell, client, { args, options }) => {
        // Commander gives what may be repeated as one list.
        const files = (args[0] ?? []) as readonly string[];
        if (options.from !== undefined) return importSessions(shell, client, files, { ...options, from: options.from });
        const [file, second] = files;
        if (second !== undefined) throw badInput("usage", "one file of messages at a time", "Session files are imported with --from.");
        const given = { args: [file], options };
        return options.thread === undefined ? importFile(shell, client, given) : importThread(shell, client, given);
      }),
    );
}

async function importFile(shell: Shell, client: LocalClient, { args: [file], options }: Given<Options>): Promise<ExitCode | undefined> {
  const timeoutMs = waitBound(options);
  if (file === undefined) throw badInput("no_file", "nothing to import", "Name a file, - for standard input, or --thread with --to.");
  const what = file === "-" ? "standard input" : file;
  const text = await readText(file, what);
  const { importBundleText } = await import("../bundle-import.ts");
  if ((await importBundleText(shell, client, text, options)) !== null) return undefined;
  if (options.again === true)
    throw badInput("again_without_from", "--again goes with --from, or with a bundle", "Leave it out, or say --from codex.");
  const request = await overridden(client, asImport(parseJson(text, what)), options);
  if (options.to !== undefined) {
    const { environmentId } = await resolvePeer(client, options.to);
    const { result, commit, repeated } = await client.command({ type: "link.import", environmentId, import: request }, shell.commandId());
    return awaitLinkAnswer(shell, client, result.requestId, options, { ...result, commit, repeated });
  }
  const { result, commit, repeated } = await client.command({ type: "thread.import", import: request }, shell.commandId());
  const about = { ...result, commit, repeated };
  if (options.wait === true && result.runId !== null) {
    // What an earlier call has started may have ended long before this one's commit.
    const after = result.created ? commit - 1 : 0;
    return awaitRun(shell, client, { threadId: result.threadId, runId: result.runId, after, timeoutMs }, about);
  }
  shell.answer(about, () => result.threadId);
  if (!shell.json && !result.created) shell.note("it was imported before; nothing new was made");
  return undefined;
}

async function importThread(shell: Shell, client: LocalClient, { args: [file], options }: Given<Options>): Promise<ExitCode | undefined> {
  waitBound(options);
  if (file !== undefined) throw badInput("file_and_thread", "a file and --thread are two things to import", "Leave one of them out.");
  if (options.to === undefined)
    throw badInput("no_environment", "--thread needs --to ENVIRONMENT", "Here a thread is forked: ropewalk fork THREAD");
  if (options.project !== undefined)
    throw badInput("project_and_thread", "--project goes with a file; a thread's project is found by its repository", "Leave it out.");
  const continuationPrompt = options.prompt === undefined ? undefined : await textArgument(options.prompt, "the prompt");
  const provider = options.with === undefined ? undefined : providerChoice(options.with);
  const { environmentId } = await resolvePeer(client, options.to);
  const threadId = await resolve(client, "thread", options.thread);
  const { result, commit, repeated } = await client.command(
    {
      type: "thread.import_to",
      threadId,
      environmentId,
      handoffId: options.handoff ?? `cli-${v7()}`,
      ...(continuationPrompt !== undefined && { continuationPrompt }),
      ...(provider !== undefined && { provider }),
      ...(options.title !== undefined && { title: options.title }),
    },
    shell.commandId(),
  );
  return awaitLinkAnswer(shell, client, result.requestId, options, { ...result, commit, repeated });
}

/** Tells by its content that it is an import; whether all of it is right is for the environment to say. */
function asImport(value: unknown): ImportRequest {
  const isImport = typeof value === "object" && value !== null && "messages" in value && "handoffId" in value;
  if (!isImport)
    throw badInput(
      "not_an_import",
      "this JSON is no import",
      "It is an object with handoffId, sourceEnvironmentId, sourceThreadId and messages; see docs/schemas/import.json.",
    );
  return value as ImportRequest;
}

async function overridden(client: LocalClient, request: ImportRequest, options: Options): Promise<ImportRequest> {
  return {
    ...request,
    ...(options.prompt !== undefined && { continuationPrompt: await textArgument(options.prompt, "the prompt") }),
    ...(options.with !== undefined && { provider: providerChoice(options.with) }),
    ...(options.project !== undefined && { projectId: await resolveProject(client, options.project) }),
    ...(options.title !== undefined && { title: options.title }),
  };
}
