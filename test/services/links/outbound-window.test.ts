import { expect, test } from "vitest";
import { OutboundWindow } from "../../../services/links/outbound-window.ts";

const at = (number: number) => ({ epoch: 1, number, digest: `${number}` });
const window = (limits = { messages: 100, bytes: 1_000 }) => new OutboundWindow(at(0), limits, { settleMs: 100, maxMs: 1_000 });

function handed(count: number, which = window()): OutboundWindow {
  for (let i = 0; i < count; i += 1) which.hand(at(which.cursor.number + 1), 10);
  return which;
}

test("W1 messages are handed over in order of their numbers alone", () => {
  const sending = handed(2);
  expect(() => sending.hand(at(4), 1)).toThrow();
  expect(() => sending.hand(at(2), 1)).toThrow();
  sending.hand(at(3), 1);
  expect(sending.cursor).toEqual(at(3));
});

test("W2 what the peer has is never sent again, whatever happens", () => {
  const sending = handed(6);
  sending.receipt(at(4));
  sending.renewed();
  expect(sending.cursor).toEqual(at(4));
  expect(sending.peerHas(1, 6, 0)).toBe(null);
  sending.failed(2, sending.pass);
  expect(sending.cursor).toEqual(at(4));
});

test("W3 no more is handed over without a receipt than the bounds allow, but one message of any size always is", () => {
  const sending = handed(3, window({ messages: 4, bytes: 1_000 }));
  expect(sending.room()).toEqual({ messages: 1, bytes: 970 });
  sending.hand(at(4), 5_000);
  expect(sending.room()).toEqual({ messages: 0, bytes: 0 });
  sending.receipt(at(4));
  expect(sending.room()).toEqual({ messages: 4, bytes: 1_000 });
});

test("W4 a failed publish takes back itself and what followed; those of an earlier pass change nothing", () => {
  const sending = handed(5);
  const { pass } = sending;
  sending.taken(1, 2, pass);
  sending.failed(3, pass);
  expect(sending.cursor).toEqual(at(2));
  sending.failed(1, pass);
  expect(sending.cursor).toEqual(at(2));
  expect(sending.pass).not.toBe(pass);
});

test("W4 a lost connection takes back what the fabric had not confirmed, a lost fabric all without a receipt", () => {
  const sending = handed(6);
  sending.receipt(at(1));
  sending.taken(2, 3, sending.pass);
  sending.taken(5, 5, sending.pass);
  expect(sending.confirmed).toBe(3);
  sending.disconnected();
  expect(sending.cursor).toEqual(at(3));
  sending.renewed();
  expect(sending.cursor).toEqual(at(1));
});

test("a receipt beyond the cursor moves it on; an older one moves nothing", () => {
  const sending = handed(5);
  sending.renewed();
  expect(sending.receipt(at(3))).toBe(true);
  expect(sending.cursor).toEqual(at(3));
  expect(sending.receipt(at(2))).toBe(false);
  expect(sending.receipt({ ...at(9), epoch: 2 })).toBe(false);
  expect(sending.receipted).toEqual(at(3));
});

test("a message that the peer lacks although the fabric had it before the question is repeated at once", () => {
  const sending = handed(5);
  expect(sending.peerHas(2, 5, 1_000)).toBe(1_000);
  expect(sending.repeatIfDue(1_000)).toBe(true);
  expect(sending.cursor).toEqual(at(2));
});

test("a message that may still be on its way is repeated only when no receipt passes it in time", () => {
  const arriving = handed(5);
  expect(arriving.peerHas(2, null, 1_000)).toBe(1_100);
  arriving.receipt(at(3));
  expect(arriving.repeatIfDue(1_100)).toBe(false);
  const stuck = handed(5);
  stuck.peerHas(2, 2, 1_000);
  expect(stuck.repeatIfDue(1_099)).toBe(false);
  expect(stuck.repeatIfDue(1_100)).toBe(true);
});

test("W5 a place that the peer is stuck at is repeated at growing distances until a receipt passes it", () => {
  const sending = handed(5);
  const distances: number[] = [];
  let now = 0;
  let last = 0;
  for (let round = 0; round < 7; round += 1) {
    while (sending.cursor.number < 5) sending.hand(at(sending.cursor.number + 1), 10);
    now = sending.peerHas(2, 5, now) ?? now;
    expect(sending.repeatIfDue(now)).toBe(true);
    distances.push(now - last);
    last = now;
  }
  expect(distances).toEqual([0, 200, 400, 800, 1_000, 1_000, 1_000]);
  sending.receipt(at(3));
  while (sending.cursor.number < 5) sending.hand(at(sending.cursor.number + 1), 10);
  expect(sending.peerHas(3, 5, now)).toBe(now);
});

test("another epoch begins anew", () => {
  const sending = handed(5);
  const { pass } = sending;
  sending.restart({ epoch: 2, number: 0, digest: "0" });
  expect(sending.cursor).toEqual({ epoch: 2, number: 0, digest: "0" });
  sending.failed(1, pass);
  sending.hand({ epoch: 2, number: 1, digest: "1" }, 10);
  expect(sending.room().messages).toBe(99);
});
