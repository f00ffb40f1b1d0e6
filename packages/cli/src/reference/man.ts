import { COMMANDS } from '../commands.ts';
import { commandParts } from './commands.ts';

/** Text that troff prints as it stands: no escapes, no requests, hyphens that can be copied, ASCII only. */
const plain = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
    .replace(
      /[^\n -~]/gu,
      (letter) => `\\[u${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
    );

const paragraphs = (text: string): string =>
  text
    .split(/\n{2,}/)
    .map((part) => `.PP\n${plain(part.trim())}`)
    .join('\n');

const verbatim = (text: string): string => `.PP\n.RS 4\n.nf\n${plain(text)}\n.fi\n.RE`;

const section = async (name: string): Promise<string> => {
  const { summary, usage, words, rows, examples } = await commandParts(name);
  return [
    `.SS handover ${plain(name)}`,
    `${plain(summary)}`,
    verbatim(`handover ${name} ${usage}`),
    ...(words === '' ? [] : [paragraphs(words)]),
    ...rows.map(
      ([flag, meaning, preset]) =>
        `.TP\n.B "${plain(flag).replaceAll('"', '\\(dq')}"\n${plain(meaning)}${preset === '' ? '' : ` (${plain(preset)})`}`,
    ),
    '.PP\nExamples:',
    verbatim(examples),
  ].join('\n');
};

/** handover(1), made from the definitions of the commands. */
export const manPage = async (version: string): Promise<string> =>
  [
    `.TH HANDOVER 1 "" "handover ${plain(version)}" "User Commands"`,
    '.SH NAME',
    'handover \\- certificate and trust rotation without a failed handshake',
    '.SH SYNOPSIS',
    '.B handover',
    '.I command',
    '[options]',
    '.SH DESCRIPTION',
    'Rotates CAs and certificates, in a directory of one machine or in a Kubernetes cluster. A rotation goes on when every program has shown',
    'that it has loaded what the next step needs.',
    '.SH COMMANDS',
    ...(await Promise.all(Object.keys(COMMANDS).map(section))),
    '.SH EXIT STATUS',
    '0 is success, 1 failure, 2 a usage error, 70 a command that ended before its work did (a bug). An error is one line that begins with its code.',
    '',
  ].join('\n');
