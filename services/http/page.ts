/** Records that a listing gives when nobody says how many, and at most. */
export const usualPage = 500;
export const maxPage = 10_000;
/** Waiting within one request; whoever wants to wait longer asks again. Milliseconds. */
export const maxWaitMs = 60_000;
export const usualWaitMs = 20_000;
