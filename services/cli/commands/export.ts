import { existsSync } from "node:fs";
import { resolve as absolute } from "node:path";
import { Command } from "commander";
import { writeWhole } from "../../runtime/whole-file.ts";
import { badInput, CliFailure, exitOf } from "../failure.ts";
import { during } from "../progress.ts";
import { resolve } from "../references.ts";
import { online } from "../session.ts";
import { oneLine } from "../terminal.ts";
import { counted, sizeWords } from "../words.ts";

type Options = { output?: string; force?: boolean };

export function exportCommand(): Command {
  return new Command("export")
    .description("write a thread into one file that another environment can import: all that was said and done, with its history")
    .argument("<thread>", "id, a unique beginning of it, or @last")
    .option("-o, --output <file>", "where to; without, or with -, it is printed")
    .option("--force", "write over a file that is there")
    .action(
      online<Options>(async (shell, client, { args: [ref], options: { output = "-", force = false } }) => {
        const threadId = await resolve(client, "thread", ref);
        const text = await during("exporting", client.threadBundle(threadId));
        const { readBundle } = await import("../../runtime/bundles/text.ts");
        const read = readBundle(text);
        if (!read.ok) throw new CliFailure(read.refusal, exitOf(read.refusal));
        const { header, end } = read.bundle;
        if (header.unfinishedRuns > 0)
          shell.note(
            `${counted(header.unfinishedRuns, "run")} of it ${header.unfinishedRuns === 1 ? "is" : "are"} not done, and not in it`,
          );
        if (output === "-") {
          process.stdout.write(text);
          return undefined;
        }
        const file = absolute(output);
        if (existsSync(file) && !force) throw badInput("file_exists", `${file} is there already`, "Name another file, or say --force.");
        writeOrRefuse(file, text);
        const about = {
          threadId,
          file,
          records: end.records,
          bytes: Buffer.byteLength(text),
          content: end.content,
          unfinishedRuns: header.unfinishedRuns,
        };
        shell.answer(
          about,
          () => `${oneLine(file)}: ${counted(end.records, "record")}, ${sizeWords(about.bytes)}, content ${end.content.slice(0, 16)}`,
        );
        return undefined;
      }),
    );
}

/** A conversation is nobody else's business, so its file is for its owner alone. */
function writeOrRefuse(file: string, text: string): void {
  try {
    writeWhole(file, text);
  } catch (error) {
    throw badInput(
      "cannot_write",
      `${file} cannot be written: ${(error as Error).message}`,
      "Name a file in a folder that can be written.",
    );
  }
}
