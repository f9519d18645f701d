import { createEnvironment, type EnvironmentOptions } from "../../services/environment.ts";
import type { Environment } from "../../services/runtime/environment-api.ts";
import { withFolder } from "./folder.ts";
import { InstantProvider } from "./instant-provider.ts";

type Work<T> = (environment: Environment, provider: InstantProvider, dir: string) => Promise<T>;

/** An environment whose only provider is the instant one, in a folder that is gone afterwards. */
export function withEnvironment<T>(work: Work<T>, options: Partial<EnvironmentOptions> = {}): Promise<T> {
  return withFolder((dir) => withEnvironmentIn(dir, work, options));
}

/** The same in a folder that is there. */
export async function withEnvironmentIn<T>(dir: string, work: Work<T>, options: Partial<EnvironmentOptions> = {}): Promise<T> {
  const provider = new InstantProvider();
  const { config, ...rest } = options;
  const environment = await createEnvironment({
    ...rest,
    dir,
    adapters: { [provider.instance]: provider },
    config: { providers: {}, defaultProvider: provider.instance, ...config },
  });
  try {
    return await work(environment, provider, dir);
  } finally {
    await environment.close();
  }
}

/** Resolves when `look` says so, looking once per turn of the event loop; throws after `ms`. */
export async function turns(what: string, look: () => boolean, ms = 120_000): Promise<void> {
  for (const end = performance.now() + ms; !look(); await new Promise((resolve) => setTimeout(resolve, 1)))
    if (performance.now() > end) throw new Error(`waited ${ms} ms for ${what}`);
}
