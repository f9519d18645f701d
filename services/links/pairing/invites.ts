import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { EnvironmentId, InviteId, LinkId } from "../../../schemas/ids.ts";
import { Grant, LinkBroker, PublicKey } from "../../../schemas/link.ts";
import { PairingSecret } from "../../../schemas/pairing.ts";
import { refusal } from "../../../schemas/refusal.ts";
import { Timestamp, Title } from "../../../schemas/text.ts";
import { CommandRefused } from "../../runtime/environment-api.ts";
import { writeWhole } from "../../runtime/whole-file.ts";

export const Invite = z.strictObject({
  id: InviteId,
  secret: PairingSecret,
  name: Title.nullable(),
  grants: z.array(Grant),
  /** Null: the environment's own server. */
  broker: LinkBroker.nullable(),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  usedBy: z.strictObject({ environmentId: EnvironmentId, publicKey: PublicKey, linkId: LinkId, at: Timestamp }).nullable(),
});
export type Invite = z.infer<typeof Invite>;

const InvitesFile = z.strictObject({ version: z.literal(1), invites: z.array(Invite) });

/** More than a person has in hand at once; the oldest goes. */
const most = 50;
/** How long one that is over is remembered: so long its code is told why it is refused, and its joiner hears the same again. */
const keptMs = 7 * 86_400_000;

/**
 * Invitations of an environment, in `keys/invites.json` (mode 0600, written whole, on the disk before a call returns). A file
 * and not a table: they hold secrets, like the keys beside them.
 */
export class Invites {
  readonly #folder: string;
  readonly #path: string;
  #invites: Invite[];

  constructor(dir: string) {
    this.#folder = join(dir, "keys");
    this.#path = join(this.#folder, "invites.json");
    this.#invites = this.#read();
  }

  /** Newest last. */
  get all(): readonly Invite[] {
    return this.#invites;
  }

  get(id: string): Invite | null {
    return this.#invites.find((invite) => invite.id === id) ?? null;
  }

  /** Adds or replaces one. Returns those that are remembered no longer. */
  put(invite: Invite, now: number): Invite[] {
    const others = this.#invites.filter(({ id }) => id !== invite.id);
    const kept = [...others, invite].filter(({ expiresAt }) => now < expiresAt + keptMs).slice(-most);
    this.#write(kept);
    const gone = this.#invites.filter(({ id }) => !kept.some((one) => one.id === id));
    this.#invites = kept;
    return gone;
  }

  #read(): Invite[] {
    let text: string;
    try {
      text = readFileSync(this.#path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw unusable("invites_unreadable", `${this.#path} cannot be read: ${why(error)}`, "Check its owner and rights.");
    }
    try {
      return InvitesFile.parse(JSON.parse(text)).invites;
    } catch {
      // What a parser says would quote the secrets.
      throw unusable("invites_damaged", `${this.#path} does not hold invitations`, "Move it away; open codes are good no longer then.");
    }
  }

  #write(invites: readonly Invite[]): void {
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeWhole(this.#path, `${JSON.stringify({ version: 1, invites }, null, 1)}\n`);
    } catch (error) {
      throw unusable("invites_unwritable", `${this.#path} cannot be written: ${why(error)}`, "Check the folder's rights and free space.");
    }
  }
}

const why = (error: unknown) => (error instanceof Error ? error.message : String(error));
const unusable = (reason: string, message: string, hint: string) =>
  new CommandRefused(refusal("orchestration_error", reason, message, hint));
