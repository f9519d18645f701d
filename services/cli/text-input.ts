import { isUtf8 } from "node:buffer";
import { createReadStream, readFileSync } from "node:fs";
import { limits } from "../../schemas/limits.ts";
import { badInput } from "./failure.ts";
import { sizeWords } from "./words.ts";

/** A text from the command line; `-` reads it from standard input. */
export async function textArgument(text: string | undefined, what: string): Promise<string> {
  if (text === "-") return (await readText("-", what)).trimEnd();
  if (text === undefined) throw badInput("no_text", `${what} is missing`, "Give it as an argument, or - to read it from standard input.");
  if (text.trim() === "") throw badInput("no_text", `${what} is empty`, "Give it as an argument, or - to read it from standard input.");
  if (text.includes("\ufffd") && !typedAsUtf8()) throw illFormed(what);
  return text;
}

/** A file's text, or standard input's for `-`; strictly UTF-8, since anything else would be changed on its way. */
export async function readText(file: string, what: string): Promise<string> {
  const bytes = await readBounded(file, what);
  if (!isUtf8(bytes)) throw illFormed(what);
  const text = bytes.toString("utf8");
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** A text's JSON; `what` it is, for whoever reads that it is none. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badInput("malformed_json", `${what} is not JSON: ${(error as Error).message}`, "Nothing was done; correct it and try again.");
  }
}

async function readBounded(file: string, what: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of file === "-" ? process.stdin : createReadStream(file)) {
      size += chunk.length;
      if (size > limits.importRequestBytes * 2) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw badInput(
      "unreadable",
      `${what} cannot be read: ${(error as Error).message}`,
      "Name a file that is there, or - for standard input.",
    );
  }
  if (size > limits.importRequestBytes * 2)
    throw badInput(
      "too_large",
      `${what} is larger than ${sizeWords(limits.importRequestBytes * 2)}`,
      "Nothing was done; give less at once.",
    );
  return Buffer.concat(chunks, size);
}

const illFormed = (what: string) =>
  badInput("ill_formed_unicode", `${what} is not well-formed Unicode (UTF-8)`, "Nothing was done; convert it to UTF-8.");

/** Node puts U+FFFD in place of what is no UTF-8. Where the system tells what was really typed, that decides. */
function typedAsUtf8(): boolean {
  try {
    return isUtf8(readFileSync("/proc/self/cmdline"));
  } catch {
    return true;
  }
}
