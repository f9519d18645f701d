/** Programs whose sessions can be adopted; also what `import --from` takes, and the source of the threads made of them. */
export type SessionAgent = "codex" | "claude";

export type SessionMessage = {
  role: "user" | "assistant";
  text: string;
  /** Milliseconds since 1970, where the file says so. */
  createdAt: number | null;
};

/** What could not be read, or not carried over as it is. `line` counts from 1; null: the file as a whole. */
export type Problem = { file: string; line: number | null; why: string };

/** What of a session is not in its messages. */
export type LeftOut = {
  /** Older messages beyond what an import takes. */
  olderMessages: number;
  /** Messages of which only the beginning and the end are kept. */
  shortened: number;
  toolCalls: number;
  /** Images and files that messages carried. */
  attachments: number;
};

/** The conversation of a session, as it stands in its files at this moment. */
export type Session = {
  agent: SessionAgent;
  /** The program's own id of it. */
  id: string;
  /** The file that it goes on in. */
  file: string;
  /** The folder that it worked in; null where the file does not say. */
  folder: string | null;
  /** The program's version that wrote last; null where the file does not say. */
  version: string | null;
  title: string;
  /** Messages of the person, those included that are left out below. */
  turns: number;
  /** Oldest first. */
  messages: SessionMessage[];
  /** Native id of the last message: with `id` it says how much of the session this is. */
  position: string;
  /** When it last went on; milliseconds since 1970. */
  changedAt: number;
  leftOut: LeftOut;
  problems: Problem[];
  /** Who started it, where it was not the person: its own subagent's session, or one that ropewalk opened. */
  startedBy: "person" | "agent" | "ropewalk";
};

/**
 * A file out of which no session came. `kind`: it holds none that a person has led (`empty`, a subagent's), it is of another
 * program than was asked for (`other`), or it could not be read.
 */
export type Unreadable = { file: string; kind: "empty" | "subagent" | "other" | "unreadable"; problems: Problem[] };
export type SessionResult = ({ ok: true } & { session: Session }) | ({ ok: false } & Unreadable);

export const unreadable = (file: string, kind: Unreadable["kind"], ...problems: Problem[]): SessionResult => ({
  ok: false,
  file,
  kind,
  problems,
});
