import { type Refusal, refusal } from "../../../schemas/refusal.ts";

/** What stands where a text was. Plain ASCII without anything to escape: it fits wherever the text did. */
export const purgedMark = "[purged]";

const leastChars = 6;
const leastDistinct = 4;
const mostChars = 10_000;
/** A part of the text that is left where somebody cut: so long at least, and half of it. */
const leastCut = 8;

/** Why a text cannot be purged; null when it can. Lengths are in characters as JavaScript counts them. */
export function whyNotPurged(text: string): Refusal | null {
  const refuse = (reason: string, message: string, hint: string) => refusal("invalid_request", reason, message, hint);
  if (!text.isWellFormed()) return refuse("malformed", "the text is not well-formed Unicode", "Give it as it was pasted.");
  if (text.length < leastChars || text.trim().length < leastChars)
    return refuse("text_too_short", `a text of less than ${leastChars} characters is in too many places`, "Give more of it.");
  if (new Set(text).size < leastDistinct)
    return refuse("text_too_common", `a text of less than ${leastDistinct} different characters is in too many places`, "Give more of it.");
  if (text.length > mostChars)
    return refuse("limit_exceeded", `the text is longer than ${mostChars} characters`, "Give a part of it that is nowhere else.");
  return null;
}

/**
 * A text that is to be found and removed, in every form in which it may stand in a record or a file: as it is, escaped as
 * in JSON (also JSON in JSON), with what is not ASCII escaped, and as in an address. Case counts.
 */
export class Needle {
  /** Longest first. */
  readonly forms: readonly string[];
  readonly bytes: readonly Buffer[];
  readonly text: string;
  readonly #cut: number | null;
  /** Without any of these, a JSON text holds nothing of it. */
  readonly #signs: readonly string[];

  constructor(text: string) {
    this.text = text;
    this.forms = formsOf(text);
    this.bytes = this.forms.map((form) => Buffer.from(form, "utf8"));
    const cut = Math.max(leastCut, Math.ceil(text.length / 2));
    this.#cut = cut < text.length ? cut : null;
    const halves = this.#cut === null ? [] : [wellFormed(text.slice(0, this.#cut)), wellFormed(text.slice(-this.#cut))];
    this.#signs = [...new Set([...this.forms, ...halves.flatMap(formsOf)])];
  }

  /** Whether a text, read out of its record, holds it. */
  isIn(text: string): boolean {
    return this.forms.some((form) => text.includes(form)) || this.#withoutCuts(text) !== text;
  }

  /** False: a serialised record cannot hold it. */
  mayBeIn(json: string): boolean {
    return this.#signs.some((sign) => json.includes(sign));
  }

  isInBytes(bytes: Buffer): boolean {
    return this.bytes.some((form) => bytes.includes(form));
  }

  /** How often a text holds it. */
  countIn(text: string): number {
    return this.forms.reduce((sum, form) => sum + text.split(form).length - 1, 0);
  }

  /** The text without it. */
  replaceIn(text: string): string {
    let left = text;
    for (const form of this.forms) if (left.includes(form)) left = left.replaceAll(form, purgedMark);
    return this.#withoutCuts(left);
  }

  /** A text as bytes, or bytes that are none, without it. */
  replaceInBytes(bytes: Buffer): Buffer {
    let left = bytes;
    for (const form of this.bytes) {
      const parts: Buffer[] = [];
      let from = 0;
      for (let at = left.indexOf(form); at !== -1; at = left.indexOf(form, from)) {
        parts.push(left.subarray(from, at), Buffer.from(purgedMark));
        from = at + form.length;
      }
      if (parts.length > 0) left = Buffer.concat([...parts, left.subarray(from)]);
    }
    return left;
  }

  /** A title or a preview may end in the middle of it: what is left of it at the beginning and the end goes too. */
  #withoutCuts(text: string): string {
    const least = this.#cut;
    if (least === null) return text;
    let left = text;
    const [, whole = "", dots = ""] = /^([\s\S]*?)(…|\.\.\.)?$/.exec(left) ?? [];
    for (let length = this.text.length - 1; length >= least; length -= 1)
      if (whole.endsWith(this.text.slice(0, length))) {
        left = `${whole.slice(0, -length)}${purgedMark}${dots}`;
        break;
      }
    const [, lead = "", rest = ""] = /^(…|\.\.\.)?([\s\S]*)$/.exec(left) ?? [];
    for (let length = this.text.length - 1; length >= least; length -= 1)
      if (rest.startsWith(this.text.slice(-length))) return `${lead}${purgedMark}${rest.slice(length)}`;
    return left;
  }
}

function formsOf(text: string): string[] {
  const once = escaped(text);
  const ascii = [asciiOnly(once, false), asciiOnly(once, true)];
  const address = encodeURIComponent(text);
  const all = [text, once, escaped(once), escaped(escaped(once)), ...ascii, ...ascii.map(escaped), address];
  return [...new Set(all)].sort((a, b) => b.length - a.length);
}

/** Without the half of a character that a cut has left at one of its ends. */
const wellFormed = (text: string): string => text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

function asciiOnly(json: string, upper: boolean): string {
  return json.replace(/[\u007f-\uffff]/g, (c) => {
    const code = c.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${upper ? code.toUpperCase() : code}`;
  });
}
