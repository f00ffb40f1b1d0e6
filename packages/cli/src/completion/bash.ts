import type { CommandShape, Value } from './table.ts';

const words = (list: readonly string[]): string => `_handover_words '${list.join(' ')}'`;

const offer = (value: Value): string => {
  switch (value.kind) {
    case 'words':
      return words(value.words);
    case 'file':
    case 'directory':
    case 'home':
    case 'authority':
      return `_handover_${value.kind}`;
    case 'free':
      return ':';
    default:
      return value satisfies never;
  }
};

const namesOf = ({ flags }: CommandShape): readonly string[] => flags.map(({ long }) => long);

const flagCases = ({ name, flags }: CommandShape): readonly string[] =>
  flags.flatMap(({ long, short, value }) =>
    value === undefined
      ? []
      : [
          `    '${name} ${long}'${short === undefined ? '' : ` | '${name} ${short}'`}) ${offer(value)}; return ;;`,
        ],
  );

const argumentCases = (command: CommandShape): readonly string[] =>
  command.arguments.map((value, index) => {
    const isLast = index === command.arguments.length - 1;
    const places = isLast && command.takesMany ? '*' : String(index);
    return `    '${command.name} '${places}) ${offer(value)} ;;`;
  });

/**
 * Words are split here and not by bash, which ends a word at a colon (`dir:/etc`). Works in bash 3.2, that of macOS. Names of
 * authorities are read from the files of the home: starting Node for each Tab would be slow.
 */
export const bashCompletion = (commands: readonly CommandShape[]): string => `# bash completion for handover
# shellcheck shell=bash disable=SC2207
_handover_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
_handover_file() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); }
_handover_directory() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")); }
_handover_home() {
  compopt -o nospace 2>/dev/null
  case $cur in
    dir:*) COMPREPLY=($(compgen -d -P dir: -- "\${cur#dir:}")) ;;
    *) COMPREPLY=($(compgen -W 'dir:' -- "$cur")) ;;
  esac
}
_handover_authority() {
  local file names=''
  for file in "$home"/state/authorities/*/*.json; do
    [ -e "$file" ] || continue
    file=\${file#"$home"/state/authorities/}
    file=\${file%.json}
    # compgen evaluates its argument, and the directory may belong to another user.
    case $file in *[!-a-z0-9./]*) continue ;; esac
    names="$names $file"
  done
  _handover_words "$names"
}
_handover() {
  local line=\${COMP_LINE:0:COMP_POINT} cur prev='' command='' home=. place=0 index word words
  COMPREPLY=()
  # It may come after the word that is completed.
  [[ $COMP_LINE =~ --home[[:space:]]+dir:([^[:space:]]+) ]] && home=\${BASH_REMATCH[1]}
  read -ra words <<<"$line"
  case $line in *[[:space:]]) words+=('') ;; esac
  cur=\${words[\${#words[@]} - 1]}
  for ((index = 1; index < \${#words[@]} - 1; index++)); do
    word=\${words[index]}
    case $word in
      -*) ;;
      *)
        if [ -z "$command" ]; then command=$word
        else
          case "$command $prev" in
${commands
  .flatMap(({ name, flags }) =>
    flags.flatMap(({ long, short, value }) =>
      value === undefined
        ? []
        : [`'${name} ${long}'`, ...(short === undefined ? [] : [`'${name} ${short}'`])],
    ),
  )
  .map((text, index, all) => `            ${text}${index === all.length - 1 ? ') ;;' : ' | \\'}`)
  .join('\n')}
            *) place=$((place + 1)) ;;
          esac
        fi
        ;;
    esac
    prev=$word
  done
  case "$command $prev" in
${commands.flatMap(flagCases).join('\n')}
  esac
  case $command:$cur in
    :-*) ${words(['--help', '--version'])} ;;
    :*) ${words(commands.map(({ name }) => name))} ;;
${commands.map((command) => `    ${command.name}:-*) ${words(namesOf(command))} ;;`).join('\n')}
  esac
  case $cur in -*) return ;; esac
  case "$command $place" in
${commands.flatMap(argumentCases).join('\n')}
  esac
}
_handover_without_colons() {
  _handover
  # Bash replaces only the part after the last colon.
  local before=\${COMP_LINE:0:COMP_POINT} index
  before=\${before##*[[:space:]]}
  before=\${before%"\${before##*:}"}
  case $COMP_WORDBREAKS in *:*) ;; *) return ;; esac
  for index in "\${!COMPREPLY[@]}"; do COMPREPLY[index]=\${COMPREPLY[index]#"$before"}; done
}
complete -F _handover_without_colons handover
`;
