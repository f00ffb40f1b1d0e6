import { readFileSync } from 'node:fs';
import { parseDuration, parseResources, type Resource } from '@handover/core';
import {
  type CertgenResult,
  certgen,
  type DirectoryHome,
  envoyGateway,
  type RandomSecret,
  readYaml,
} from '@handover/engine';
import { type Duration, HandoverError, instant } from '@handover/material';
import { Option } from 'commander';
import type { Context, Define } from '../context.ts';
import { homeOption, homePath, openHome } from '../directory/open-home.ts';
import { pause } from '../directory/pause.ts';
import { LiveLine } from '../directory/waiting.ts';
import { usageError } from '../error-line.ts';

interface Flags {
  readonly home: string;
  readonly namespace?: string;
  readonly preset?: 'envoy-gateway';
  readonly file?: string;
  readonly overwrite?: true;
  readonly rotationId?: string;
  readonly wait?: true;
  readonly timeout: Duration;
  readonly json?: true;
}

const LOOK_EVERY_MS = 250;

const durationArgument = (text: string): Duration => {
  const length = parseDuration(text);
  if (length === undefined)
    throw usageError(`--timeout ${text} is not a duration; write it like 90s, 10m or 2h`);
  return length;
};

const inNamespace = (value: unknown, namespace: string | undefined): unknown => {
  if (namespace === undefined || typeof value !== 'object' || value === null) return value;
  const { metadata, kind } = value as { metadata?: object; kind?: string };
  return kind === 'TrustBundle' ? value : { ...value, metadata: { namespace, ...metadata } };
};

const fileText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new HandoverError('FILE_UNREADABLE', `${path} cannot be read; correct the path`, { path, cause });
  }
};

/** The resources that are asked for; undefined: those of the directory. */
const asked = (
  flags: Flags,
): { resources: readonly Resource[] | undefined; randomSecrets: readonly RandomSecret[] } => {
  if (flags.preset !== undefined && flags.file !== undefined)
    throw usageError('--preset and -f name resources both; give one of them');
  if (flags.preset !== undefined) return envoyGateway(flags.namespace ?? 'envoy-gateway-system');
  if (flags.file === undefined) return { resources: undefined, randomSecrets: [] };
  const documents = readYaml(fileText(flags.file), flags.file);
  const resources = parseResources(
    documents.map(({ value, where }) => ({ where, value: inNamespace(value, flags.namespace) })),
  );
  return { resources, randomSecrets: [] };
};

const oneRun = async (
  home: DirectoryHome,
  resources: readonly Resource[] | undefined,
  flags: Flags,
  context: Context,
): Promise<readonly CertgenResult[]> => {
  const catalogue = home.load(resources);
  await home.checkClock(catalogue.authorities.keys());
  const results: CertgenResult[] = [];
  for (const id of catalogue.authorities.keys()) {
    results.push(
      await certgen(home, catalogue, id, {
        overwrite: flags.overwrite === true,
        rotationId: flags.rotationId,
        ask: (authority, rotate) => home.requests.ask({ authority, rotate }, context.now()),
      }),
    );
  }
  return results;
};

export const define: Define = (command, context) => {
  homeOption(command)
    .option('--namespace <ns>', 'namespace of the Secrets (default for the preset: envoy-gateway-system)')
    .addOption(new Option('--preset <name>', 'a known set of Secrets').choices(['envoy-gateway']))
    .option('-f, --file <file>', 'resources from this file instead of the directory')
    .option('--overwrite', 'replace what is there: a rotation')
    .option(
      '--rotation-id <id>',
      'name of the rotation: a run that is repeated goes on with it; means --overwrite',
    )
    .option('--wait', 'stay until the rotation is complete')
    .option('--timeout <duration>', 'how long to stay', durationArgument, 600_000 as Duration)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
One run for a Job or a script. Without --overwrite only what is missing is made. With it, each run takes the rotation as
far as is safe by now. Secrets whose CA key nobody kept are taken over: trusted first, replaced later.
In a directory no webhook is patched and no workload restarted: there is no API server that would hold either.

Examples:
  $ handover certgen --preset envoy-gateway --home dir:/var/lib/certs
  $ handover certgen --preset envoy-gateway --overwrite --rotation-id upgrade-7 --home dir:/var/lib/certs`,
    )
    .action(async (flags: Flags) => {
      const { resources, randomSecrets } = asked(flags);
      const home = openHome(homePath(flags.home), context);
      await home.files.makeDirectory(home.path, 0o755);
      const lock = await home.lock();
      const line = new LiveLine(context.stderr);
      try {
        let results = await oneRun(home, resources, flags, context);
        const made: string[] = [];
        for (const { object, key, bytes } of randomSecrets)
          if (await home.makeRandomSecret(object, key, bytes)) made.push(object);
        let written = made.length + results.reduce((sum, result) => sum + result.written, 0);
        if (flags.wait === true) {
          const signal = context.untilStopped();
          const end = performance.now() + flags.timeout;
          while (results.some(({ phase }) => phase !== 'Stable')) {
            const late = results.find(({ phase }) => phase !== 'Stable');
            if (late !== undefined) {
              const endsAt = instant(context.now() + end - performance.now());
              line.show({ ...late, dueAt: late.wakeAt, endsAt }, context.now(), `${late.authority}: `);
            }
            if (signal.aborted || performance.now() >= end) throw unfinished(results);
            await pause(LOOK_EVERY_MS, signal);
            // The rotation that this run began or found: none is begun while waiting.
            const rotationId = results.find(({ rotation }) => rotation !== undefined)?.rotation;
            const { overwrite: _begun, ...rest } = flags;
            const again = rotationId === undefined ? rest : { ...rest, rotationId };
            results = await oneRun(home, resources, again, context);
            written += results.reduce((sum, result) => sum + result.written, 0);
          }
        }
        line.clear();
        context.stdout.write(
          flags.json === true
            ? `${JSON.stringify({ written, made, authorities: results })}\n`
            : `${written} written\n${results.map(sentence).join('')}`,
        );
      } finally {
        line.clear();
        await lock.release();
      }
    });
};

const sentence = ({ authority, phase, rotation, blockedBy }: CertgenResult): string => {
  const waits = blockedBy.slice(0, 3).map(({ consumer, waitsFor }) => `; waits for ${consumer}: ${waitsFor}`);
  return `${authority}: ${phase}${rotation === undefined ? '' : `, rotation ${rotation}`}${waits.join('')}\n`;
};

const unfinished = (results: readonly CertgenResult[]): HandoverError => {
  const late = results.find(({ phase }) => phase !== 'Stable');
  return new HandoverError(
    'ROTATION_UNFINISHED',
    `${late?.authority ?? 'a rotation'} is still ${late?.phase ?? 'under way'}: ${late?.blockedBy[0]?.consumer ?? 'it'} is waited for (${late?.blockedBy[0]?.waitsFor ?? 'time'}); run again with the same id`,
    { retry: 'later' },
  );
};
