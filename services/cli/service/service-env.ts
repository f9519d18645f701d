/** What an environment and its agents need to be found and to speak; nothing else of the shell's is kept in the service's file. */
const kept = [
  "PATH",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TZ",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
  "XDG_CACHE_HOME",
  "CODEX_HOME",
  "CLAUDE_CONFIG_DIR",
  "ROPEWALK_CODEX_BIN",
  "ROPEWALK_LOG_LEVEL",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NO_PROXY",
  "no_proxy",
];
const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const secrets = /(_API_KEY|_TOKEN|_SECRET|_PASSWORD|_CREDENTIALS)$/;
const agents = /^(OPENAI|CODEX|ANTHROPIC|CLAUDE|GEMINI|GOOGLE|AWS)_/;

export type ServiceEnv = {
  env: Record<string, string>;
  /** Names that agents may miss, which are not written into a file. */
  leftOut: string[];
};

/** What of a shell's environment the service is given. */
export function serviceEnv(shell: NodeJS.ProcessEnv): ServiceEnv {
  const env: Record<string, string> = {};
  const leftOut: string[] = [];
  for (const name of [...kept, ...proxies]) {
    const value = shell[name];
    if (value === undefined || value === "") continue;
    if (hasControl(value) || (proxies.includes(name) && holdsPassword(value))) leftOut.push(name);
    else env[name] = value;
  }
  leftOut.push(...Object.keys(shell).filter((name) => secrets.test(name) && agents.test(name)));
  return { env, leftOut };
}

const holdsPassword = (proxy: string) => proxy.includes("@");

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what no unit can hold
export const hasControl = (text: string): boolean => /[\u0000-\u001f\u007f]/.test(text);
