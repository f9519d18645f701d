import type { LocalClient } from "../http/client.ts";
import { shortIds } from "./short-ids.ts";

const nouns = ["thread", "run", "transfer", "task", "link", "move"] as const;

/** Digits that a short reference has at least; the environment is asked what else begins like that. */
const asked = 8;

/** A command that takes a run takes a thread, too, and looks for that first: a run's beginning must be no thread's. */
const takenFor = (noun: (typeof nouns)[number]) => (noun === "run" ? (["run", "thread"] as const) : ([noun] as const));

/** For each id among these words the shortest beginning by which the environment finds it alone. */
export async function shortReferences(client: LocalClient, words: readonly string[]): Promise<Map<string, string>> {
  const found = await Promise.all(
    [...new Set(words)].map(async (id): Promise<[string, string]> => {
      const noun = nouns.find((noun) => id.startsWith(`${noun}:`));
      const digits = id.slice(id.lastIndexOf(":") + 1).replaceAll("-", "");
      for (let length = asked; noun !== undefined && length < digits.length; length += 4) {
        const found = await Promise.all(takenFor(noun).map((other) => client.resolve(other, { ref: digits.slice(0, length) })));
        const alike = found.flatMap(({ ids }) => ids);
        if (found.every(({ ids }) => ids.length < most) && alike.includes(id)) return [id, shortIds(alike).get(id) ?? id];
      }
      return [id, id];
    }),
  );
  return new Map(found);
}

/** As many as a resolution names; of more, only some would be known. */
const most = 12;
