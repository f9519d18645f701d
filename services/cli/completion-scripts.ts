import type { Command } from "commander";

export const shells = ["bash", "zsh", "fish"] as const;

/** What may follow a command, by its path (`task show`; the program's own is empty). */
type Words = { path: string; commands: { name: string; description: string }[]; options: { flag: string; description: string }[] };

/** A script for a shell that completes the program's commands and options. Names are ours: no quoting is needed in them. */
export function completionScript(shell: (typeof shells)[number], program: Command): string {
  const table = wordsOf(program, "", []);
  if (shell === "bash") return bash(table);
  return shell === "zsh" ? zsh(table) : fish(table);
}

function wordsOf(command: Command, path: string, inherited: Words["options"]): Words[] {
  const visible = command.commands.filter((c) => !(c as { _hidden?: boolean })._hidden);
  const own = command.options.flatMap((o) => (o.hidden || o.long == null ? [] : [{ flag: o.long, description: o.description }]));
  const options = [...own, ...inherited];
  const commands = visible.map((c) => ({ name: c.name(), description: c.description() }));
  // Options of the program may stand behind any command.
  const below = path === "" ? own : inherited;
  return [{ path, commands, options }, ...visible.flatMap((c) => wordsOf(c, path === "" ? c.name() : `${path} ${c.name()}`, below))];
}

const all = ({ commands, options }: Words) => [...commands.map((c) => c.name), ...options.map((o) => o.flag), "--help"].join(" ");

function bash(table: Words[]): string {
  return `# bash completion of ropewalk
_ropewalk_words() {
  case "$1" in
${table.map((words) => `    "${words.path}") echo "${all(words)}" ;;`).join("\n")}
    *) return 1 ;;
  esac
}
_ropewalk() {
  local path="" word next index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    [[ "$word" == -* ]] && continue
    next="\${path:+$path }$word"
    _ropewalk_words "$next" >/dev/null && path="$next"
  done
  COMPREPLY=($(compgen -W "$(_ropewalk_words "$path")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _ropewalk ropewalk
`;
}

function zsh(table: Words[]): string {
  return `#compdef ropewalk
_ropewalk_words() {
  case "$1" in
${table.map((words) => `    "${words.path}") echo "${all(words)}" ;;`).join("\n")}
    *) return 1 ;;
  esac
}
_ropewalk() {
  local path_words="" word next
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ "$word" == -* ]] && continue
    next="\${path_words:+$path_words }$word"
    _ropewalk_words "$next" >/dev/null && path_words="$next"
  done
  compadd -- \${=$(_ropewalk_words "$path_words")}
}
if [[ "\${funcstack[1]}" == "_ropewalk" ]]; then _ropewalk "$@"; else compdef _ropewalk ropewalk; fi
`;
}

function fish(table: Words[]): string {
  const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const names = table.find((words) => words.path === "")?.commands.map((c) => c.name) ?? [];
  const condition = (path: string) => {
    if (path === "") return `not __fish_seen_subcommand_from ${names.join(" ")}`;
    return path
      .split(" ")
      .map((name) => `__fish_seen_subcommand_from ${name}`)
      .join("; and ");
  };
  const lines = table.flatMap(({ path, commands, options }) => [
    ...commands.map((c) => `complete -c ropewalk -f -n ${quoted(condition(path))} -a ${c.name} -d ${quoted(c.description)}`),
    ...options.map((o) => `complete -c ropewalk -n ${quoted(condition(path))} -l ${o.flag.replace(/^--/, "")} -d ${quoted(o.description)}`),
  ]);
  return `# fish completion of ropewalk\n${lines.join("\n")}\n`;
}
