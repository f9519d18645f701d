import { emitKeypressEvents, type Key as Keypress } from "node:readline";

export type Key =
  /** What was typed or pasted, as it is to stand in the line; several lines only from a paste. */
  | { type: "text"; text: string }
  /** A key by the name that `node:readline` gives it, with `ctrl-` and `meta-` in front: `return`, `ctrl-c`, `meta-b`. */
  | { type: "key"; name: string };

type Input = NodeJS.ReadableStream;

const keysWithText: ReadonlySet<string> = new Set(["return", "enter", "tab"]);
/** Nobody types this much between two looks at the keyboard. */
const pastedChars = 256;

/**
 * Keys as they are pressed, until the returned function is called. A paste is one text, whatever line ends are in it: between
 * the marks of a terminal that marks its pastes (`bracketedPaste`), else whatever came in one piece with a line end inside.
 */
export function onKeys(input: Input, onKey: (key: Key) => void): () => void {
  let pasted: string | null = null;
  let isMarked = false;

  const before = (piece: Buffer | string) => {
    if (!isMarked && looksPasted(String(piece))) pasted ??= "";
  };
  const keypress = (text: string | undefined, key: Keypress) => {
    const name = `${key.ctrl ? "ctrl-" : ""}${key.meta ? "meta-" : ""}${key.name ?? ""}`;
    if (name === "paste-start") {
      isMarked = true;
      pasted ??= "";
    } else if (name === "paste-end") {
      isMarked = false;
      flush();
    } else if (pasted !== null) pasted += printable(text);
    else if (key.name !== undefined && (key.ctrl || key.meta || printable(text) === "" || keysWithText.has(name)))
      onKey({ type: "key", name });
    else if (printable(text) !== "") onKey({ type: "text", text: printable(text) });
  };
  const after = () => {
    if (!isMarked) flush();
  };
  function flush(): void {
    const text = (pasted ?? "").replace(/\r\n?/g, "\n");
    pasted = null;
    if (text !== "") onKey({ type: "text", text });
  }

  // Their order matters: readline's own listener, which tells the keys of a piece, stands between the two.
  input.on("data", before);
  emitKeypressEvents(input);
  input.on("keypress", keypress);
  input.on("data", after);
  return () => {
    input.off("data", before);
    input.off("data", after);
    input.off("keypress", keypress);
  };
}

/** A line end with more behind it, in what came at once from a terminal that does not mark pastes. */
function looksPasted(piece: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: keys that are no text begin with a control character
  return /[\r\n]\t*[^\u0000-\u001f\u007f]/.test(piece) || (piece.length > pastedChars && /[\r\n]/.test(piece));
}

/** Line ends and tabs stay; whatever else steers a terminal is no text. */
function printable(text: string | undefined): string {
  if (text === undefined || text.startsWith("\u001b")) return "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "");
}
