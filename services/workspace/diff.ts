import type { ChangedFile } from "../../schemas/checkpoint.ts";
import type { Difference } from "../runtime/ports/workspaces.ts";
import { entries, git, gitText } from "./git.ts";
import type { PassingCall } from "./passing-objects.ts";

/** No program of the repository has a say in what a difference looks like. */
const plain = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none", "-M"];

/** The files that differ between two trees or commits, by name. */
export async function changedFiles(folder: string, from: string, to: string, call: PassingCall = {}): Promise<ChangedFile[]> {
  const answer = await git(folder, ["diff-tree", "-r", "-z", "--name-status", ...plain, from, to], call);
  const fields = entries(answer).map((b) => b.toString("utf8").toWellFormed());
  const found: ChangedFile[] = [];
  for (let at = 0; at < fields.length; ) {
    const status = (fields[at] as string)[0];
    const first = fields[at + 1] ?? "";
    if (status === "R") {
      found.push({ path: fields[at + 2] ?? "", change: "rename", from: first });
      at += 3;
    } else {
      found.push({ path: first, change: status === "A" ? "add" : status === "D" ? "delete" : "update" });
      at += 2;
    }
  }
  return found;
}

/** The same as a patch; binary files are named, not shown. Cut at a whole line once it is longer than `maxChars`. */
async function patchBetween(
  folder: string,
  from: string,
  to: string,
  maxChars: number,
  call: PassingCall,
): Promise<{ text: string; isCut: boolean }> {
  const whole = (await git(folder, ["diff-tree", "-r", "-p", ...plain, from, to], call)).toString("utf8").toWellFormed();
  if (whole.length <= maxChars) return { text: whole, isCut: false };
  return { text: whole.slice(0, whole.lastIndexOf("\n", maxChars) + 1), isCut: true };
}

/** Both, for two trees or commits. */
export async function differenceBetween(
  folder: string,
  from: string,
  to: string,
  maxChars: number,
  call: PassingCall = {},
): Promise<Difference> {
  const [files, { text, isCut }] = await Promise.all([
    changedFiles(folder, from, to, call),
    patchBetween(folder, from, to, maxChars, call),
  ]);
  return { files, patch: text, isCut };
}

/** The tree without a file; every repository has it, under the name that its digest gives. */
export const emptyTree = (folder: string): Promise<string> => gitText(folder, ["hash-object", "-t", "tree", "--stdin"]);
