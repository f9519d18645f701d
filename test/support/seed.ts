import fc from "fast-check";

/**
 * Property tests take the same random inputs in every run, so that what was green stays green until something changes.
 * `ROPEWALK_SEED=random` looks further; a number repeats what another run has found.
 */
const wanted = process.env.ROPEWALK_SEED ?? "20261130";
if (wanted !== "random") fc.configureGlobal({ seed: Number(wanted) });
