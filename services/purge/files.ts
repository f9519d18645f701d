import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { FileAnswer, FileQuestion } from "./file-search.ts";

const maxMs = 600_000;

/** Looks through files in a process of its own; see file-search.ts. */
export function searchFiles(question: FileQuestion): Promise<FileAnswer> {
  const script = fileURLToPath(new URL(`./file-search${import.meta.url.slice(-3)}`, import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "pipe"], timeout: maxMs });
  const out: Buffer[] = [];
  let complaint = "";
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => {
    if (complaint.length < 2_000) complaint += chunk.toString("utf8");
  });
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(question));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(Buffer.concat(out).toString("utf8")) as FileAnswer);
      else reject(new Error(`looking through files ended with ${code ?? "a signal"}: ${complaint.slice(0, 500)}`));
    });
  });
}
