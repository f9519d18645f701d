import type { ThreadSnapshot } from "../../../schemas/thread-view.ts";
import { plainText } from "../item-text.ts";
import { took } from "../time.ts";
import { runWords, threadWords } from "../words.ts";
import { activeTurn } from "./asked.ts";

/** How a thread stands, on one line, and what the keys do now. `stopping`: the run that was asked to stop here. */
export function statusLine(view: ThreadSnapshot | null, isLost: boolean, stopping: string | null): string {
  if (isLost) return "! away; what you type is kept. Start it: ropewalk up --detach";
  if (view === null) return "reading the thread";
  const { state } = view;
  const run = activeTurn(view)?.run;
  const next = state.preferredProvider?.instance ?? state.provider ?? "nobody yet";
  if (run == null) return `○ ${threadWords(state.status, null, state.marks?.archived !== undefined)} · ${next} · /help · Ctrl-D leaves`;
  const seconds = took(Math.max(0, Date.now() - run.createdAt)).replace(/\.\d/, "");
  const hint = stopping === run.id ? "Ctrl-C again leaves" : "Ctrl-C stops it";
  return [`● ${runWords({ status: run.status, error: run.error ?? null })}`, seconds, hint, run.provider ?? next].join(" · ");
}

/** Messages that wait for their turn, in order. */
export function queuedTexts(view: ThreadSnapshot | null): string[] {
  if (view === null) return [];
  return (view.state.queue ?? []).map((id) => {
    const message = view.turns.findLast(({ run }) => run?.id === id)?.items?.[0];
    return message?.kind === "user_message" ? plainText(message.content) : "a message";
  });
}
