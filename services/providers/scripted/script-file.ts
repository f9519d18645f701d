import { readFileSync } from "node:fs";
import { failure } from "./failure.ts";
import { Script } from "./script.ts";

const maxProblems = 20;

/**
 * The script as its file says now. It is read again at every use, so that an edited script counts from the next open or
 * turn on; it is parsed again only when its text has changed. `file` null: an empty script.
 */
export class ScriptFile {
  readonly #file: string | null;
  #text: string | null = null;
  #script: Script = {};

  constructor(file: string | null) {
    this.#file = file;
  }

  /** Throws a ProviderFailure that names the file and every problem's path when it is missing or invalid. */
  current(): Script {
    if (this.#file === null) return this.#script;
    const text = read(this.#file);
    if (text !== this.#text) {
      this.#script = parse(this.#file, text);
      this.#text = text;
    }
    return this.#script;
  }

  /** The last script that was valid, without a failure. */
  lastGood(): Script {
    try {
      return this.current();
    } catch {
      return this.#script;
    }
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const reason = missing ? "script_missing" : "script_unreadable";
    const message = missing ? `The script ${file} does not exist.` : `The script ${file} cannot be read: ${(cause as Error).message}`;
    throw failure(reason, message, "Put the script there, or change `script` of this provider.", { cause, details: { file } });
  }
}

function parse(file: string, text: string): Script {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw invalid(file, [{ path: "", message: (cause as Error).message }], cause);
  }
  const parsed = Script.safeParse(json);
  if (parsed.success) return parsed.data;
  throw invalid(
    file,
    parsed.error.issues.slice(0, maxProblems).map((issue) => ({ path: issue.path.map(String).join("."), message: issue.message })),
    parsed.error,
  );
}

function invalid(file: string, problems: { path: string; message: string }[], cause: unknown) {
  const told = problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
  return failure("script_invalid", `The script ${file} is not valid: ${told}`, "Correct the script; it is read again at the next run.", {
    cause,
    details: { file, problems },
  });
}
