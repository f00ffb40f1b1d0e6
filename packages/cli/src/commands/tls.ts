import { domainToASCII } from 'node:url';
import { parseDuration, START_TLS, type StartTls } from '@handover/core';
import type { Duration } from '@handover/material';
import { Argument, Option } from 'commander';
import type { Context, Define } from '../context.ts';
import { CliError, type CliErrorCode } from '../error.ts';
import { usageError } from '../error-line.ts';
import { type KubeFlags, kubeOptions } from '../kubernetes/connect.ts';
import { PROFILES, yardstickOf } from '../tls/profile.ts';
import { showCheck } from '../tls/show.ts';
import { type CheckTarget, hostAndPort } from '../tls/target.ts';
import { checkTls, type TlsCheck } from '../tls-check/check.ts';

/** Does `work` for each item, at most `atOnce` at a time. Results in the items' order. */
export async function inTurn<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}

interface Flags extends KubeFlags {
  readonly profile: string;
  readonly profileFile?: string;
  readonly servername?: string;
  readonly starttls?: StartTls;
  readonly timeout: Duration;
  readonly home?: 'kube';
  readonly json?: true;
}

/** Servers checked at the same time, each with at most four connections. */
const AT_ONCE = 4;

const durationArgument = (text: string): Duration => {
  const length = parseDuration(text);
  if (length === undefined || length < 1 || length > 600_000)
    throw usageError(`--timeout: "${text}" is not a duration up to 10m; write it like 5s`);
  return length;
};

/** As it is sent: names beyond ASCII are encoded. */
export const servernameArgument = (text: string): string => {
  const name = domainToASCII(text);
  if (name === '' || name.length > 253)
    throw usageError(`--servername: "${text.slice(0, 64)}" is not a host name; write it like web.mesh.svc`);
  return name;
};

export const define: Define = (command, context) => {
  kubeOptions(
    command
      .usage('check [options] <host:port | ns/service[:port]>')
      .addArgument(new Argument('<action>', 'what to do').choices(['check']))
      .argument('<server>', 'HOST:PORT; with --home kube NS/SERVICE or NS/SERVICE:PORT')
      .addOption(
        new Option('--profile <name>', 'the profile to compare with')
          .choices(PROFILES)
          .default('Intermediate'),
      )
      .addOption(
        new Option(
          '--profile-file <file>',
          'a profile.json instead, as workloads get it; - is standard input',
        ).conflicts('profile'),
      )
      .option(
        '--servername <name>',
        'server name to send (SNI); default: the host, or SERVICE.NS.svc',
        servernameArgument,
      )
      .addOption(new Option('--starttls <protocol>', 'start TLS inside another protocol').choices(START_TLS))
      .addOption(
        new Option('--timeout <duration>', 'how long to wait for each answer, such as 500ms or 5s')
          .argParser(durationArgument)
          .default(5_000 as Duration, '5s'),
      )
      .addOption(new Option('--home <home>', 'check every ready pod behind a Service').choices(['kube'])),
  )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Offers a server TLS 1.0 to 1.3 and over a hundred suites, independent of this machine's OpenSSL, and shows which versions, suites
and groups it accepts. Then makes one complete handshake as a client with that profile. Certificates are not judged; servers
that require a client certificate can be checked too. Not tried: SSL 2 and 3, and suites with a pre-shared key or password.

A mismatch: the server accepts a version below the profile's minimum, or a suite that the profile does not list, or refuses a
version that the profile has suites for. Groups beyond a named profile are a remark; beyond those of a --profile-file they are
a mismatch. Missing suites are a remark: one key serves only half of them. If an answer is missing, the command says so, and
the result is not a match.

With --home kube the command connects to the pods' own addresses: run it where they can be reached, such as in the cluster.

Exit code 1 on a mismatch, and if a server could not be checked.

Examples:
  $ handover tls check localhost:8443 --profile Modern
  $ handover tls check --home kube mesh/web:https --profile Intermediate
  $ handover tls check db:5432 --starttls postgres --profile-file profile.json`,
    )
    .action(async (_action: 'check', server: string, flags: Flags) => {
      const measure = await yardstickOf(flags, context.stdin);
      const targets = await targetsOf(server, flags, context);
      const checks = await inTurn(targets, AT_ONCE, async ({ pod, ...target }) => ({
        ...(pod === undefined ? {} : { pod }),
        ...(await checkTls(target, measure, { clock: context.clock, timeoutMs: flags.timeout })),
      }));
      const isMatch = checks.every(({ verdict }) => verdict === 'match');
      if (!isMatch) context.exitCode = 1;
      if (flags.json === true) {
        const { name, profile, notTried } = measure;
        const document = { ok: isMatch, profile: { name, ...profile, notTried }, servers: checks };
        context.stdout.write(`${JSON.stringify(document)}\n`);
        return;
      }
      mustHaveLearned(checks, flags);
      context.stdout.write(checks.map((check) => showCheck(check, measure, context.colours)).join('\n'));
    });
};

const targetsOf = async (server: string, flags: Flags, context: Context): Promise<readonly CheckTarget[]> => {
  const common = {
    ...(flags.starttls === undefined ? {} : { starttls: flags.starttls }),
    ...(flags.servername === undefined ? {} : { servername: flags.servername }),
  };
  if (flags.home === undefined) {
    if (server.includes('/')) throw usageError(`${server} is a Service; add --home kube, or give HOST:PORT`);
    return [{ ...hostAndPort(server), ...common }];
  }
  const { serviceTargets } = await import('../kubernetes/service-targets.ts');
  const { targets, notReady, servername } = await serviceTargets(server, flags);
  if (notReady.length > 0) context.stderr.write(`skipped, not ready: ${notReady.join(', ')}\n`);
  return targets.map((target) => ({ servername, ...target, ...common }));
};

const NOTHING_LEARNED: Readonly<Record<string, CliErrorCode>> = {
  UNREACHABLE: 'TLS_UNREACHABLE',
  SILENT: 'TLS_SILENT',
  NOT_TLS: 'TLS_NOT_TLS',
  CLOSED: 'TLS_CLOSED',
};

/** One line and no table when no server could be checked. */
const mustHaveLearned = (checks: readonly TlsCheck[], { home }: Flags): void => {
  const [first] = checks;
  if (first === undefined || checks.some(({ verdict }) => verdict !== 'unchecked')) return;
  const [{ code, message } = { code: 'UNCHECKED', message: 'the check learned nothing' }] = first.unknowns;
  const all = checks.length === 1 ? first.address : `all ${checks.length} servers, ${first.address} first`;
  const advice =
    home === 'kube' && code === 'UNREACHABLE'
      ? 'the command connects to pods directly, so run it in the cluster'
      : 'check the address and port';
  throw new CliError(NOTHING_LEARNED[code] ?? 'TLS_UNCHECKED', `${all}: ${message}; ${advice}`);
};
