import { spawnSync } from "node:child_process";

/**
 * Runs a command in a network namespace that has nothing but loopback, so that a real agent that it starts reaches our
 * endpoint and nobody else: `node test/support/in-netns.ts <command> [argument …]`. Where the system does not allow it,
 * says so and runs the command as it is.
 */
const ways = [
  ["unshare", "-n"],
  // Without root, in a user namespace, where the system allows those.
  ["unshare", "-rn"],
];
const command = process.argv.slice(2);
const withLoopback = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"];

const way = ways.find(
  ([program = "", ...flags]) => spawnSync(program, [...flags, ...withLoopback, "true"], { stdio: "ignore" }).status === 0,
);
if (way === undefined) {
  console.error(
    "No network namespace here (needs Linux, `unshare` and `ip`, and root or user namespaces): real agents can reach the network.",
  );
}
const [program = "", ...rest] = way ? [...way, ...withLoopback, ...command] : command;
const { status, signal, error } = spawnSync(program, rest, { stdio: "inherit" });
if (error) console.error(error.message);
process.exitCode = status ?? (signal ? 130 : 1);
