import { type Bench, figure } from "../figure.ts";
import { turns, withEnvironmentIn } from "../support/environment.ts";
import { fanOut } from "../support/fan-out.ts";
import { withNats, withSides } from "../support/linked.ts";

/** The same children in the environment at the other end of a link, results back, in turn with children in one environment. */
export const fanOutLinked: Bench = ({ quick }) =>
  withNats((url) =>
    withSides(url, (a, b) =>
      withEnvironmentIn(
        a.dir,
        (here, provider) =>
          withEnvironmentIn(
            b.dir,
            async (there) => {
              const count = quick ? 20 : 200;
              await turns("the link", () => here.links.list()[0]?.status === "online" && there.links.list()[0]?.status === "online");
              const [across, alone]: [number[], number[]] = [[], []];
              for (let i = -2; i < (quick ? 2 : 5); i += 1) {
                const local = await fanOut(here, provider, count);
                const linked = await fanOut(here, provider, count, there.id);
                if (i < 0) continue;
                alone.push(local.totalMs);
                across.push(linked.totalMs);
              }
              return [figure(`${count} children over a link`, "ms", across, { what: "one environment", samples: alone, mark: 3 })];
            },
            { config: b.config },
          ),
        { config: a.config },
      ),
    ),
  );
