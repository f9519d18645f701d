/** Which tools are listed, and how much of them: each costs an agent tokens in every request. */
export const profiles = ["small", "full"] as const;
export type Profile = (typeof profiles)[number];
export const isProfile = (text: string): text is Profile => (profiles as readonly string[]).includes(text);
