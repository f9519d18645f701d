import { type Bench, type Figure, median } from "../figure.ts";
import { measureWire, type WireProvider, type WireSizes } from "../support/wire/measure.ts";
import type { WireText } from "../support/wire/scenario.ts";

const kib = 1_024;

/** What the product that defined the measure has published for the repeated text, per provider. */
const published = {
  codex: { snapshot: 3.8 * kib, live: 1.2 * kib, total: 5.0 * kib, liveDecoded: 20.9 * kib },
  claude: { snapshot: 3.8 * kib, live: 1.2 * kib, total: 5.0 * kib, liveDecoded: 21.2 * kib },
};
/** Ours must be under this part of it. */
export const part = 0.6;
/** A turn's live messages: its first change, and the rest. */
export const mostMessages = 2;
/** Brotli over gzip of the same snapshot of varied prose. */
export const brotliOverGzip = 0.9;

/**
 * The same scenario at commit 7ef1daf, the last one before views: `GET /v1/threads/ID/snapshot` and `/v1/feed`, neither of
 * them compressed nor coalesced, every output up to 16 KiB in the snapshot and in the feed.
 */
const before = {
  codex: { repeated: { snapshot: 298_553, live: 101_489 }, varied: { snapshot: 298_559, live: 101_483 } },
  claude: { repeated: { snapshot: 300_123, live: 102_109 }, varied: { snapshot: 300_129, live: 102_103 } },
};

/** What a client receives to open a thread of ten turns and to follow one: bytes on a bare socket, both providers, both texts. */
export const wire: Bench = async ({ quick }) => {
  const figures: Figure[] = [];
  for (const text of ["repeated", "varied"] as const)
    for (const provider of ["codex", "claude"] as const) {
      const rounds: WireSizes[] = [];
      for (let round = 0; round < (quick ? 1 : 3); round += 1) rounds.push(await measureWire(provider, text));
      figures.push(...(text === "repeated" ? heldToPublished(provider, rounds) : heldToGzip(provider, rounds)));
    }
  return figures;
};

/** The marks for one provider, in bytes. */
export function wireMarks(provider: WireProvider): { snapshot: number; live: number; total: number; liveDecoded: number } {
  const { snapshot, live, total, liveDecoded } = published[provider];
  return { snapshot: snapshot * part, live: live * part, total: total * part, liveDecoded: liveDecoded * part };
}

function heldToPublished(provider: WireProvider, rounds: WireSizes[]): Figure[] {
  const marks = wireMarks(provider);
  const was = before[provider].repeated;
  const row = (what: keyof typeof marks, words: string, of: (sizes: WireSizes) => number): Figure => {
    const shown = sized(`${provider}, repeated text: ${words}`, rounds.map(of));
    const beside = { what: "published", value: published[provider][what] };
    return { ...shown, beside, ratio: shown.value / beside.value, mark: { text: `under ${part} x`, met: shown.value < marks[what] } };
  };
  return [
    row("snapshot", "snapshot", (s) => s.snapshot),
    row("live", "live", (s) => s.live),
    row("total", "both", (s) => s.snapshot + s.live),
    row("liveDecoded", "live, decoded", (s) => s.liveDecoded),
    messages(provider, "repeated", rounds),
    previous(provider, "repeated", "snapshot", rounds, was.snapshot),
    previous(provider, "repeated", "live", rounds, was.live),
  ];
}

function heldToGzip(provider: WireProvider, rounds: WireSizes[]): Figure[] {
  const was = before[provider].varied;
  const name = `${provider}, varied text`;
  const brotli = sized(
    `${name}: snapshot, brotli`,
    rounds.map((s) => s.brotli),
  );
  const gzip = median(rounds.map((s) => s.gzip));
  const paged = sized(
    `${name}: snapshot of the newest three turns`,
    rounds.map((s) => s.paged),
  );
  const whole = median(rounds.map((s) => s.snapshot));
  return [
    {
      ...brotli,
      beside: { what: "gzip", value: gzip },
      ratio: brotli.value / gzip,
      mark: { text: `under ${brotliOverGzip} x`, met: brotli.value < brotliOverGzip * gzip },
    },
    { ...paged, beside: { what: "all ten", value: whole }, ratio: paged.value / whole },
    messages(provider, "varied", rounds),
    previous(provider, "varied", "snapshot", rounds, was.snapshot),
    previous(provider, "varied", "live", rounds, was.live),
  ];
}

function messages(provider: WireProvider, text: WireText, rounds: WireSizes[]): Figure {
  const shown = sized(
    `${provider}, ${text} text: live messages`,
    rounds.map((s) => s.messages),
  );
  return { ...shown, unit: "", mark: { text: `at most ${mostMessages}`, met: shown.value <= mostMessages } };
}

function previous(provider: WireProvider, text: WireText, what: "snapshot" | "live", rounds: WireSizes[], value: number): Figure {
  const shown = sized(
    `${provider}, ${text} text: ${what}`,
    rounds.map((s) => s[what]),
  );
  return { ...shown, beside: { what: "at 7ef1daf", value }, ratio: shown.value / value };
}

function sized(what: string, samples: number[]): Figure {
  return { what, unit: "B", value: median(samples), spread: [Math.min(...samples), Math.max(...samples)] };
}
