import type { CommandShape, Flag, Value } from './table.ts';

/** Inside '…' of an _arguments specification. */
const quoted = (text: string): string => text.replaceAll("'", "'\\''").replace(/[[\]:\\]/g, '\\$&');

const offer = (value: Value): string => {
  switch (value.kind) {
    case 'words':
      return `(${value.words.join(' ')})`;
    case 'file':
      return '_files';
    case 'directory':
      return '_files -/';
    case 'home':
    case 'authority':
      return `_handover_${value.kind}`;
    case 'free':
      return ' ';
    default:
      return value satisfies never;
  }
};

const flagSpec = ({ long, short, summary, value }: Flag): string => {
  const tail = `[${quoted(summary)}]${value === undefined ? '' : `:value:${offer(value)}`}`;
  return short === undefined ? `'${long}${tail}'` : `'(${short} ${long})'{${short},${long}}'${tail}'`;
};

const argumentSpecs = ({ arguments: places, takesMany }: CommandShape): readonly string[] =>
  places.map((value, index) =>
    takesMany && index === places.length - 1
      ? `'*:argument:${offer(value)}'`
      : `'${index + 1}:argument:${offer(value)}'`,
  );

export const zshCompletion = (commands: readonly CommandShape[]): string => `#compdef handover
_handover_home() {
  if compset -P 'dir:'; then _files -/; else compadd -S '' dir:; fi
}
_handover_authority() {
  local home=\${\${opt_args[--home]:-dir:.}//\\\\:/:}
  home=\${home#dir:}
  local -a found=($home/state/authorities/*/*.json(N:r))
  compadd -- \${found#$home/state/authorities/}
}
_handover() {
  local context state state_descr line
  local -A opt_args
  _arguments -C '(-)'{-h,--help}'[print help]' '(-)'{-V,--version}'[print the version]' '1:command:->command' '*::argument:->rest'
  case $state in
    command)
      local -a commands=(
${commands.map(({ name, summary }) => `        '${name}:${quoted(summary)}'`).join('\n')}
      )
      _describe command commands
      ;;
    rest)
      case $words[1] in
${commands
  .map(
    (command) =>
      `        ${command.name}) _arguments ${[...command.flags.map(flagSpec), ...argumentSpecs(command)].join(' ')} ;;`,
  )
  .join('\n')}
      esac
      ;;
  esac
}
if [ "$funcstack[1]" = _handover ]; then _handover "$@"; else compdef _handover handover; fi
`;
