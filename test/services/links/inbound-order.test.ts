import fc from "fast-check";
import { expect, test } from "vitest";
import type { IncarnationId } from "../../../schemas/ids.ts";
import { InboundOrder, type IncomingMessage } from "../../../services/links/inbound-order.ts";

const message = (number: number, over: Partial<IncomingMessage> = {}): IncomingMessage => ({
  incarnation: "inc:00000000-0000-7000-8000-000000000000" as IncarnationId,
  epoch: 1,
  number,
  commit: number,
  requestId: null,
  kind: "notice",
  content: { is: "plain", bytes: Buffer.alloc(10) },
  ...over,
});
const order = (limits = { messages: 10, bytes: 1_000 }) => new InboundOrder({ epoch: 1, number: 0, digest: "" }, limits);
const numbers = (messages: IncomingMessage[]) => messages.map(({ number }) => number);

test("I1, I2 whatever order messages come in, each is given once and in order", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (arrivals, most) => {
      const incoming = order();
      const given: number[] = [];
      for (const number of [...arrivals, ...Array.from({ length: 12 }, (_, i) => i + 1)]) {
        incoming.offer(message(number));
        given.push(...numbers(incoming.take(most)));
      }
      while (incoming.peek() !== null) given.push(...numbers(incoming.take(most)));
      expect(given).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
    }),
  );
});

test("I2 a repeat is told from a message that comes too early", () => {
  const incoming = order();
  expect(incoming.offer(message(1))).toBe("next");
  expect(numbers(incoming.take(10))).toEqual([1]);
  expect(incoming.offer(message(1))).toBe("repeat");
  expect(incoming.offer(message(3))).toBe("early");
  expect([incoming.peek(), incoming.behind]).toEqual([null, true]);
  expect(incoming.offer(message(2))).toBe("next");
  expect(incoming.offer(message(4))).toBe("next");
});

test("I3 what comes too early is held within the bounds only, and the next one always", () => {
  const incoming = order({ messages: 3, bytes: 1_000 });
  for (const number of [5, 4, 3, 2]) incoming.offer(message(number));
  expect(incoming.held).toBe(2);
  incoming.offer(message(1, { content: { is: "plain", bytes: Buffer.alloc(5_000) } }));
  expect(numbers(incoming.take(10))).toEqual([1]);
  expect(incoming.behind).toBe(true);
});

test("I3 a message that waits for a blob holds up those behind it, and takes a new pointer", () => {
  const incoming = order();
  const pointer = { digest: "a".repeat(64), bytes: 5, object: "o", key: "first" };
  const waiting = message(1, { content: { is: "blob", pointer } });
  incoming.offer(waiting);
  incoming.offer(message(2));
  expect(incoming.take(10)).toEqual([]);
  const again = message(1, { content: { is: "blob", pointer: { ...pointer, key: "second" } } });
  incoming.offer(again);
  incoming.resolve(waiting, Buffer.from("stale"));
  expect(incoming.take(10)).toEqual([]);
  incoming.resolve(again, Buffer.from("bytes"));
  expect(numbers(incoming.take(10))).toEqual([1, 2]);
});

test("I4 a higher epoch begins at one and ends the lower", () => {
  const incoming = order();
  incoming.offer(message(1));
  incoming.take(10);
  incoming.offer(message(3));
  expect(incoming.offer(message(1, { epoch: 2 }))).toBe("next");
  expect(incoming.offer(message(2))).toBe("let_go");
  expect(incoming.take(10).map(({ epoch, number }) => [epoch, number])).toEqual([[2, 1]]);
});

test("what the store did not take waits again, from where the store stands", () => {
  const incoming = order();
  for (const number of [1, 2, 3]) incoming.offer(message(number));
  const run = incoming.take(10);
  incoming.putBack({ epoch: 1, number: 1, digest: "" }, run.slice(1));
  expect(incoming.expects).toEqual({ epoch: 1, number: 2 });
  expect(numbers(incoming.take(10))).toEqual([2, 3]);
});
