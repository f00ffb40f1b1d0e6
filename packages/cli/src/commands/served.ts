import { parseDuration, START_TLS, type StartTls } from '@handover/core';
import { type Certificate, type Duration, isoSeconds } from '@handover/material';
import { Option } from 'commander';
import type { Context, Define } from '../context.ts';
import { CliError } from '../error.ts';
import { usageError } from '../error-line.ts';
import { parseFile } from '../inspect/file.ts';
import { readInput } from '../inspect/read-input.ts';
import { amount, printable } from '../printable.ts';
import { notServed, type Served, servedBehind } from '../served/served.ts';
import { hostAndPort } from '../tls/target.ts';
import { servernameArgument } from './tls.ts';

interface Flags {
  readonly certificate: string;
  readonly starttls?: StartTls;
  readonly servername?: string;
  readonly wait?: Duration;
  readonly json?: true;
}

const AGAIN_MS = 500;
const NAMES = 3;

const waitArgument = (text: string): Duration => {
  const length = parseDuration(text);
  if (length === undefined || length > 86_400_000)
    throw usageError(`--wait: "${text}" is not a duration up to 1d; write it like 30s or 5m`);
  return length;
};

const namesOf = ({ dnsNames, ipAddresses, uris, subject }: Certificate): string => {
  const names = [...dnsNames, ...ipAddresses, ...uris];
  const listed = names.slice(0, NAMES).join(', ');
  const more = names.length > NAMES ? ` and ${names.length - NAMES} more` : '';
  return printable(names.length === 0 ? subject : `${listed}${more}`);
};

/** One certificate in words: names, serial number and end tell two certificates of one server apart. */
const inWords = (leaf: Certificate): string =>
  `${namesOf(leaf)}, serial ${leaf.serial}, until ${isoSeconds(leaf.notAfter)}`;

const inJson = (leaf: Certificate) => ({
  fingerprint: leaf.fingerprint,
  names: [...leaf.dnsNames, ...leaf.ipAddresses, ...leaf.uris],
  issuer: leaf.issuer,
  serial: leaf.serial,
  notAfter: isoSeconds(leaf.notAfter),
});

const what = ({ leaf, why }: Served): string =>
  leaf === undefined ? (why ?? '') : `shows another certificate: ${inWords(leaf)}`;

/** The server as it was asked for, with the address where its name has several. */
const where = (server: string, { address }: Served, all: readonly Served[]): string =>
  all.length === 1 ? server : `${server} at ${address}`;

const leafIn = async (path: string, { stdin, clock }: Context): Promise<Certificate> => {
  const { name, entries } = parseFile(path, await readInput(path, stdin));
  const leaf = entries[0]?.certificate;
  if (leaf === undefined)
    throw new CliError(
      'PEM_NO_CERTIFICATE',
      `${name} has no certificate; name the file that the server loads`,
      {
        path,
      },
    );
  if (leaf.notAfter <= clock.now())
    throw new CliError(
      'NOT_SERVED',
      `${name} holds a certificate that expired at ${isoSeconds(leaf.notAfter)}; renew it before a server shows it`,
      { path },
    );
  return leaf;
};

export const define: Define = (command, context) => {
  command
    .argument('<server>', 'HOST:PORT')
    .requiredOption(
      '--certificate <file>',
      'PEM file whose first certificate the server has to show, such as fullchain.pem; - is standard input',
    )
    .addOption(new Option('--starttls <protocol>', 'start TLS inside another protocol').choices(START_TLS))
    .option('--servername <name>', 'server name to ask for (SNI); default: the host', servernameArgument)
    .addOption(
      new Option('--wait <duration>', 'how long to go on asking, such as 30s; default: ask once').argParser(
        waitArgument,
      ),
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Says whether a server shows the certificate that is in a file. Asks five times at every address behind the name: workers that
run on after a reload still show the old certificate for a moment. Needs no directory and no Authority: whatever wrote the file,
such as certbot, lego, acme.sh or Vault Agent, can run this command as its deploy hook. Verifies nothing else: whether a client
trusts the certificate is not asked.

Exit code 1 unless the server shows that certificate, and if it expired.

Examples:
  $ handover served www.example.org:443 --certificate /etc/letsencrypt/live/www.example.org/fullchain.pem --wait 30s
  $ handover served mail.example.org:25 --certificate mail.pem --starttls smtp
  $ handover served 127.0.0.1:443 --certificate shop.pem --servername shop.example.org --json`,
    )
    .action(async (server: string, flags: Flags) => {
      const { starttls, servername, wait = 0 } = flags;
      const target = {
        ...hostAndPort(server),
        ...(starttls === undefined ? {} : { starttls }),
        ...(servername === undefined ? {} : { servername }),
      };
      const expected = await leafIn(flags.certificate, context);
      const { clock, stdout, stderr } = context;
      const until = clock.monotonic() + wait;
      let told = '';
      let all = await servedBehind(clock, target, expected);
      let missing = notServed(all);
      while (missing !== undefined && clock.monotonic() < until) {
        const reason = `${where(server, missing, all)} ${what(missing)}`;
        if (reason !== told) stderr.write(`waiting: ${reason}\n`);
        told = reason;
        await clock.sleep(AGAIN_MS);
        all = await servedBehind(clock, target, expected);
        missing = notServed(all);
      }
      if (flags.json === true) {
        if (missing !== undefined) context.exitCode = 1;
        const servers = all.map(({ address, verdict, leaf, why }) => ({
          address,
          verdict,
          ...(leaf === undefined ? {} : { shows: inJson(leaf) }),
          ...(why === undefined ? {} : { why }),
        }));
        stdout.write(
          `${JSON.stringify({ ok: missing === undefined, server, expected: inJson(expected), servers })}\n`,
        );
        return;
      }
      if (missing !== undefined)
        throw new CliError(
          'NOT_SERVED',
          `${where(server, missing, all)} ${what(missing)}; ${remedy(missing, flags)}`,
        );
      const at = all.filter(({ verdict }) => verdict === 'served').length;
      const everywhere = at > 1 ? ` at ${amount(at, 'address', 'addresses')}` : '';
      stdout.write(`${server} shows it${everywhere}: ${inWords(expected)}\n`);
    });
};

const remedy = ({ leaf }: Served, { certificate, wait, servername }: Flags): string => {
  if (leaf === undefined) return 'check the address, the port and --starttls';
  const file = certificate === '-' ? 'the given one' : certificate;
  const name = servername === undefined ? ', or name the site with --servername' : '';
  return wait === undefined
    ? `make the server load ${file}, give it time with --wait 30s${name}`
    : `make the server load ${file}${name}`;
};
