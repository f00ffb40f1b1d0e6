import type { CommandShape, Flag, Value } from './table.ts';

const quoted = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`;

const offer = (value: Value): string => {
  switch (value.kind) {
    case 'words':
      return ` -xa ${quoted(value.words.join(' '))}`;
    case 'file':
      return ' -rF';
    case 'directory':
      return " -xa '(__fish_complete_directories)'";
    case 'home':
    case 'authority':
      return ` -xa '(__handover_${value.kind})'`;
    case 'free':
      return ' -x';
    default:
      return value satisfies never;
  }
};

const flagLine = (name: string, { long, short, summary, value }: Flag): string => {
  const names = `-l ${long.slice(2)}${short === undefined ? '' : ` -s ${short.slice(1)}`}`;
  return `complete -c handover -n '__fish_seen_subcommand_from ${name}' ${names} -d ${quoted(summary)}${value === undefined ? '' : offer(value)}`;
};

const argumentLines = ({ name, arguments: places }: CommandShape): readonly string[] => {
  const [value] = places;
  if (value === undefined || value.kind === 'free') return [];
  return [
    `complete -c handover -n '__fish_seen_subcommand_from ${name}'${offer(value).replace(/^ -rF/, ' -F')}`,
  ];
};

export const fishCompletion = (commands: readonly CommandShape[]): string => `# fish completion for handover
function __handover_home
  set -l path (string replace -r '^dir:' '' -- (commandline -ct))
  printf 'dir:%s\\n' (__fish_complete_directories $path | string replace -r '\\t.*' '')
end
function __handover_authority
  set -l home .
  set -l words (commandline -opc)
  for index in (seq (count $words))
    test $words[$index] = --home; and set home (string replace -r '^dir:' '' -- $words[(math $index + 1)])
  end
  for file in $home/state/authorities/*/*.json
    string replace -r '^.*/([^/]+/[^/]+)\\.json$' '$1' -- $file
  end
end
complete -c handover -f
complete -c handover -n __fish_use_subcommand -l help -s h -d 'print help'
complete -c handover -n __fish_use_subcommand -l version -s V -d 'print the version'
${commands
  .flatMap((command) => [
    `complete -c handover -n __fish_use_subcommand -a ${command.name} -d ${quoted(command.summary)}`,
    ...command.flags.map((flag) => flagLine(command.name, flag)),
    ...argumentLines(command),
  ])
  .join('\n')}
`;
