import type { BlobPointer } from "../../schemas/wire.ts";
import { Alarm, Backoff } from "./alarm.ts";
import { openBlob } from "./blob-sealing.ts";
import type { IncomingMessage } from "./inbound-order.ts";
import { type LinkSide, sendControl } from "./link-side.ts";

/**
 * Fetches the body of the one message whose turn it is. What is missing, damaged or of another put than the pointer says
 * is asked for; the sender puts it again and sends its message with a new pointer.
 */
export class IncomingBlob {
  readonly #side: LinkSide;
  readonly #arrived: (message: IncomingMessage, bytes: Buffer) => void;
  readonly #alarm: Alarm;
  readonly #backoff: Backoff;
  #wanted: { message: IncomingMessage; pointer: BlobPointer } | null = null;
  #fetching = false;
  #stopped = false;

  constructor(side: LinkSide, arrived: (message: IncomingMessage, bytes: Buffer) => void) {
    this.#side = side;
    this.#arrived = arrived;
    this.#alarm = new Alarm(side.clock, () => this.#fetch());
    this.#backoff = new Backoff(Math.max(side.options.retryMs, 250), side.options.retryMaxMs);
  }

  /** It is this message's turn. Calling again with the same message changes nothing; with another pointer it is fetched at once. */
  want(message: IncomingMessage, pointer: BlobPointer): void {
    if (this.#stopped) return;
    if (this.#wanted !== null && this.#wanted.pointer.object === pointer.object && this.#wanted.pointer.key === pointer.key) {
      // Sent again while it is being fetched.
      this.#wanted.message = message;
      return;
    }
    const { statistics, clock } = this.#side;
    const since = statistics.waitingForBlob?.number === message.number ? statistics.waitingForBlob.since : clock.now();
    statistics.waitingForBlob = { number: message.number, bytes: pointer.bytes, since };
    if (this.#wanted?.message.number !== message.number) this.#backoff.reset();
    this.#wanted = { message, pointer };
    this.#fetch();
  }

  stop(): void {
    this.#stopped = true;
    this.#wanted = null;
    this.#alarm.clear();
  }

  #fetch(): void {
    if (this.#wanted === null || this.#fetching) return;
    const wanted = this.#wanted;
    const { pointer } = wanted;
    this.#alarm.clear();
    this.#fetching = true;
    this.#get(pointer)
      .then(
        (bytes) => ({ bytes, said: true }),
        (error: unknown) => {
          this.#side.log.debug({ linkId: this.#side.linkId, object: pointer.object, error: String(error) }, "blob not fetched");
          return { bytes: null, said: false };
        },
      )
      .then(({ bytes, said }) => {
        this.#fetching = false;
        if (this.#wanted !== wanted) return this.#fetch();
        if (bytes !== null) return this.#found(wanted.message, bytes);
        if (said) void sendControl(this.#side, { type: "blob_wanted", digest: pointer.digest });
        this.#alarm.set(this.#side.clock.now() + this.#backoff.next());
      });
  }

  #found(message: IncomingMessage, bytes: Buffer): void {
    this.#wanted = null;
    this.#side.statistics.waitingForBlob = null;
    this.#arrived(message, bytes);
  }

  async #get(pointer: BlobPointer): Promise<Buffer | null> {
    const sealed = await this.#side.transport.getBlob(this.#side.linkId, pointer.object);
    return sealed === null ? null : openBlob(sealed, pointer.object, pointer.key, pointer.digest);
  }
}
