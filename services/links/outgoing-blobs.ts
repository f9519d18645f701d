import type { LinkPosition } from "../../schemas/link.ts";
import type { BlobPointer } from "../../schemas/wire.ts";
import type { OutboxMessage } from "../runtime/ports/link-ledger.ts";
import { sealBlob } from "./blob-sealing.ts";
import type { LinkSide } from "./link-side.ts";

/** `lost`: the peer did not find it. */
type Put = { epoch: number; number: number; after: LinkPosition; pointer: BlobPointer; lost: boolean };

/**
 * The bodies of ours that are too large for a message. The outbox keeps the plain body until the receipt; what lies in
 * the fabric is a copy that may be gone at any time and is put again, under a fresh key, when the peer asks for it.
 */
export class OutgoingBlobs {
  readonly #side: LinkSide;
  readonly #puts = new Map<number, Put>();

  constructor(side: LinkSide) {
    this.#side = side;
  }

  /** The pointer to send: to the put of an earlier sending, or to a new one. Rejects when it could not be put. */
  async pointerFor(message: OutboxMessage, after: LinkPosition): Promise<BlobPointer> {
    const earlier = this.#puts.get(message.number);
    if (earlier?.epoch === message.epoch && !earlier.lost) return earlier.pointer;
    const { out, linkId, transport } = this.#side;
    const plain = Buffer.from(message.body);
    const object = `${out.from}/${message.epoch}/${message.number}`;
    const { sealed, key, digest } = await sealBlob(plain, object);
    await transport.putBlob(linkId, object, sealed);
    const pointer: BlobPointer = { digest, bytes: plain.length, object, key };
    this.#puts.set(message.number, { epoch: message.epoch, number: message.number, after, pointer, lost: false });
    return pointer;
  }

  /** The peer does not find this one: the next sending puts it again. Returns the position before its message, if it is known. */
  lost(digest: string): LinkPosition | null {
    for (const put of this.#puts.values()) {
      if (put.pointer.digest !== digest) continue;
      put.lost = true;
      return put.after;
    }
    return null;
  }

  /** The fabric may have lost all of them. */
  renewed(): void {
    this.#puts.clear();
  }

  /** The peer's store has the bodies up to here. */
  receipted(position: LinkPosition): void {
    for (const put of this.#puts.values()) {
      if (put.epoch > position.epoch || (put.epoch === position.epoch && put.number > position.number)) continue;
      this.#puts.delete(put.number);
      this.#side.transport.deleteBlob(this.#side.linkId, put.pointer.object).catch((error: unknown) => {
        // It goes when the fabric's own age limit takes it.
        this.#side.log.debug({ linkId: this.#side.linkId, object: put.pointer.object, error: String(error) }, "blob not deleted");
      });
    }
  }
}
