/** One line of `ropewalk doctor`. */
export type Finding = { about: string; state: "fine" | "note" | "wrong"; text: string; hint: string | null };

export const fine = (about: string, text: string): Finding => ({ about, state: "fine", text, hint: null });
export const note = (about: string, text: string, hint: string | null): Finding => ({ about, state: "note", text, hint });
export const wrong = (about: string, text: string, hint: string): Finding => ({ about, state: "wrong", text, hint });
