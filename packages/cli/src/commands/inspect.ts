import { Password } from '@handover/core';
import { HandoverError, type Instant } from '@handover/material';
import type { Define } from '../context.ts';
import { tellEnd } from '../error-line.ts';
import { documentOf } from '../inspect/document.ts';
import { type InspectedFile, parseFile } from '../inspect/file.ts';
import { readInput } from '../inspect/read-input.ts';
import { type Relations, relate } from '../inspect/relations.ts';
import { tree } from '../inspect/tree.ts';
import { fieldsOf, heading, placed } from '../inspect/values.ts';
import { type Warning, warningsOf } from '../inspect/warnings.ts';
import { readNamed } from '../named-file.ts';
import { printable } from '../printable.ts';

/** One fact per line, in the order of the file: for pipes, logs and `grep`. */
const plainText = (
  file: InspectedFile,
  warnings: readonly Warning[],
  relations: Relations,
  now: Instant,
): string => {
  const lines = [heading(file)];
  for (const entry of file.entries) {
    lines.push(placed(`certificate ${entry.index}`, entry));
    for (const [name, value] of fieldsOf(entry, relations, now)) lines.push(`  ${name}: ${value}`);
  }
  for (const other of file.others) lines.push(placed(other.label, other));
  for (const { code, certificate, line, message } of warnings) {
    const where = certificate === undefined ? `line ${line}` : `certificate ${certificate}`;
    lines.push(`warning: ${code}: ${where}: ${printable(message)}`);
  }
  return `${lines.join('\n')}\n`;
};

const MAX_PASSWORD_BYTES = 4_096;

interface Flags {
  readonly passwordFile?: string;
  readonly json?: true;
}

export const define: Define = (command, context) => {
  command
    .argument('<file...>', 'PEM files or keystores (PKCS#12, JKS), or - for standard input')
    .option('--password-file <path>', 'file with the password of the keystores, on one line')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Shows each certificate with its place in the chain, and warns about: expired or not yet valid certificates, CAs of one name
that cannot be told apart because an AKI is missing, a private key beside certificates, a leaf among trust anchors, duplicate
certificates, other PEM blocks, text between blocks. A private key is named by its label and never printed. A file may have
16 MiB at most.

Of a keystore it shows the alias of each certificate, and whether the store trusts it. With --password-file it also checks that the password
opens the file. Without one, it shows a JKS and a PKCS#12 whose certificates are not encrypted, such as those of Handover.

Exit code 1 if a file cannot be read or parsed; warnings do not change the exit code.

Examples:
  $ handover inspect ca.crt tls.crt
  $ handover inspect keystore.p12 --password-file /etc/handover/password
  $ kubectl get configmap mesh-trust -o jsonpath='{.data.ca\\.crt}' | handover inspect -`,
    )
    .action(async (paths: string[], options: Flags) => {
      const { passwordFile } = options;
      const password =
        passwordFile === undefined
          ? undefined
          : Password.parse(readNamed(passwordFile, MAX_PASSWORD_BYTES), passwordFile);
      const files: InspectedFile[] = [];
      const errors: HandoverError[] = [];
      for (const path of paths) {
        try {
          files.push(parseFile(path, await readInput(path, context.stdin), password));
        } catch (error) {
          if (!(error instanceof HandoverError)) throw error;
          errors.push(error);
          context.exitCode = 1;
        }
      }
      const now = context.clock.now();
      const relations = relate(files);
      const inspected = files.map((file) => ({ file, warnings: warningsOf(file, relations, now) }));
      if (options.json === true) {
        context.stdout.write(
          `${JSON.stringify(documentOf(inspected, relations, now, errors), undefined, 2)}\n`,
        );
      } else {
        const show = context.stdout.isTTY === true ? tree : plainText;
        const texts = inspected.map(({ file, warnings }) =>
          show(file, warnings, relations, now, context.colours),
        );
        if (texts.length > 0) context.stdout.write(texts.join('\n'));
      }
      const asked = options.json === true ? ['--json'] : [];
      for (const error of errors) tellEnd(error, 'inspect', asked, context);
    });
};
