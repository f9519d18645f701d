import { oauthLimits } from "./limits.ts";

/**
 * What a program calls itself, as it can be shown: on one line, of a bound length, and without marks that turn the direction
 * of what stands beside it.
 */
export function programName(given: string | undefined): string {
  const shown = (given ?? "")
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  const short = [...shown].slice(0, oauthLimits.programNameChars).join("").trim();
  return short === "" ? "a program without a name" : short;
}
