import { parentPort } from "node:worker_threads";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { CountReply, CountRequest } from "./tokens.ts";

/** Nothing in a history is a command to the tokenizer: `<|endoftext|>` there is thirteen characters of text. */
const asPlainText = { disallowedSpecial: new Set<string>() };

/**
 * The merging of one word takes time with the square of its length, so that a megabyte without a space would take minutes.
 * Runs that the tokenizer keeps together are cut after this many characters; the count then errs by a token or so for
 * each cut, and texts that people and programs write are hardly ever cut.
 */
const longRuns = /[\p{L}\p{M}]{256}|\s{256}|[^\s\p{L}\p{N}]{256}/gu;

function count(text: string): number {
  let tokens = 0;
  let from = 0;
  for (const { index, 0: run } of text.matchAll(longRuns)) {
    tokens += countTokens(text.slice(from, index + run.length), asPlainText);
    from = index + run.length;
  }
  return tokens + countTokens(text.slice(from), asPlainText);
}

parentPort?.on("message", ({ id, texts }: CountRequest) => {
  let reply: CountReply;
  try {
    reply = { id, counts: texts.map(count) };
  } catch (cause) {
    reply = { id, error: cause instanceof Error ? cause.message : String(cause) };
  }
  parentPort?.postMessage(reply);
});
