import { Command } from "commander";
import { lookUp, sessionFolders } from "../../sessions/find.ts";
import { type Around, readSession } from "../../sessions/read.ts";
import type { Session } from "../../sessions/session.ts";
import { Adopter } from "../adopt.ts";
import { badInput, CliFailure, exitOf } from "../failure.ts";
import { numbered } from "../found-sessions.ts";
import { type ModeOptions, modesOf, withModeOptions } from "../modes.ts";
import { during } from "../progress.ts";
import { providerChoice } from "../references.ts";
import { awaitRun, type WaitOptions, waitBound } from "../run-outcome.ts";
import { online } from "../session.ts";
import { leftOutWords, problemWords } from "../session-words.ts";
import type { Shell } from "../shell.ts";
import { textArgument } from "../text-input.ts";

type Options = WaitOptions & ModeOptions & { with?: string };

export function continueCommand(): Command {
  const command = new Command("continue")
    .description(
      "make a session of Codex or Claude Code a thread, send it a message and print the answer; the session itself stays as it is",
    )
    .argument("<session>", "its number in `ropewalk sessions`, its id (or a unique beginning), or its file")
    .argument("<text>", "the message; - reads it from standard input")
    .option("--with <instance[:model]>", "who is to answer; the history goes along")
    .option("--no-wait", "do not wait for the answer")
    .option("--timeout <duration>", "how long to wait for it, like 90s or 5m (exit code 5 then; the run goes on)");
  return withModeOptions(command).action(
    online<Options>(async (shell, client, { args: [ref = "", text], options }) => {
      const timeoutMs = waitBound(options);
      const message = await textArgument(text, "the message");
      const provider = options.with === undefined ? undefined : providerChoice(options.with);
      const session = await during("reading the session", sessionOf(shell, ref));
      const adopter = await Adopter.create(shell, client);
      const adopted = await adopter.adopt(session, { again: true, ownWorktree: true });
      if (adopted.status === "refused") throw new CliFailure(adopted.refusal, exitOf(adopted.refusal));
      const { threadId } = adopted;
      if (!shell.json) tell(shell, session, adopted);
      const sent = await client.command(
        { type: "thread.send", threadId, text: message, ...modesOf(options), ...(provider !== undefined && { provider }) },
        shell.commandId("send"),
      );
      const about = {
        ...sent.result,
        commit: sent.commit,
        repeated: sent.repeated,
        adopted: adopted.status,
        leftOut: session.leftOut,
        problems: session.problems,
      };
      if (options.wait === false) {
        shell.answer(about, () => `sent; see the answer with: ropewalk show ${threadId}`);
        return undefined;
      }
      return awaitRun(shell, client, { threadId, runId: sent.result.runId, after: sent.commit - 1, timeoutMs }, about);
    }),
  );
}

function tell(shell: Shell, session: Session, adopted: Awaited<ReturnType<Adopter["adopt"]>> & { threadId: string }): void {
  const isNew = adopted.status === "imported";
  shell.note(`${adopted.threadId}${isNew ? "" : " (the session was made a thread before)"}`);
  if (adopted.status === "imported" && adopted.older !== null)
    shell.note(`the session has gone on since it was made the thread ${adopted.older}; that one stays as it is`);
  const missing = leftOutWords(session.leftOut);
  if (isNew && missing !== "") shell.note(missing);
  if (isNew) for (const problem of session.problems) shell.note(`not read: ${problemWords(problem)}`);
}

/** The session that was meant, as it stands in its file now. */
async function sessionOf(shell: Shell, ref: string): Promise<Session> {
  const { path, around } = await fileOf(shell, ref);
  const read = await readSession(path, null, around);
  if (read.ok) return read.session;
  const why = read.problems.map(problemWords).join("; ");
  throw badInput("unreadable_session", `this session cannot be adopted: ${why}`, see, { problems: read.problems });
}

const see = "See: ropewalk sessions";

async function fileOf(shell: Shell, ref: string): Promise<{ path: string; around?: Around }> {
  if (ref.includes("/") || ref.includes("\\") || /\.jsonl(\.zst)?$/.test(ref)) return { path: ref };
  const folders = sessionFolders(process.env);
  if (/^\d{1,6}$/.test(ref)) {
    const session = numbered(shell.dir, Number(ref));
    if (session === null) throw badInput("unknown_reference", `no session was shown with the number ${ref}`, see);
    // A Codex session that was taken back since goes on in another file.
    const { paths, around } = await lookUp(folders, session.id);
    return { path: paths.length === 1 && paths[0] !== undefined ? paths[0] : session.file, around };
  }
  const { paths, around } = ref === "" ? { paths: [], around: {} } : await lookUp(folders, ref);
  const [path, second] = paths;
  if (path === undefined) throw badInput("unknown_reference", `there is no session "${ref}"`, see);
  if (second !== undefined) throw badInput("ambiguous_reference", `"${ref}" may mean ${paths.length} sessions`, "Type more of its id.");
  return { path, around };
}
