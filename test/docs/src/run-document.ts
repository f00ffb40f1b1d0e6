import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { eventually, PROGRAM, temporaryFolder } from '@handover/test-api-server';
import { afterEach, expect } from 'vitest';
import { program } from '../../../packages/cli/test/examples/programs.ts';
import { playKubelet } from '../../../packages/operator/test/cluster/played-kubelet.ts';
import { connectTo } from '../../../packages/operator/test/cluster/stage.ts';
import { findBinaries } from '../../cluster/src/binaries.ts';
import { type Cluster, startCluster } from '../../cluster/src/index.ts';
import { places } from '../../cluster/src/places.ts';
import { plain, type Step, stepsOf } from './commands.ts';
import { blocksIn, DOCUMENTS, isStepOfCi, ROOT, stepsIn } from './documents.ts';
import { difference } from './expected.ts';
import { fileNameIn } from './markdown.ts';
import { loadNginx } from './scenery.ts';
import { Session } from './session.ts';
import { STAGES, type Stage } from './stages.ts';
import { LONG_RUNNING, NOT_RUN, RUN_ELSEWHERE, SERVERS } from './tables.ts';

const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const temporary = (): string => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755); // PostgreSQL has a user of its own
  return folder;
};

/** `handover` and `kubectl handover`, as if they were installed: those that all tests start, which lie side by side. */
const commands = (): string => {
  const bin = temporary();
  for (const name of ['handover', 'kubectl-handover']) {
    const file = join(bin, name);
    writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${join(dirname(PROGRAM), name)}.js' "$@"\n`);
    chmodSync(file, 0o755);
  }
  return bin;
};

/** The present working tree, with installed and built files. */
const copy = (): string => {
  const folder = temporary();
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT });
  execFileSync('cp', ['-r', '--parents', '--', ...existing(files), folder], { cwd: ROOT });
  const built = execFileSync(
    'find',
    ['packages', 'test', '-name', 'dist', '-not', '-path', '*/node_modules/*'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  );
  execFileSync('cp', ['-a', '--parents', '--', ...built.trim().split('\n'), folder], { cwd: ROOT });
  // Half a gigabyte that is only read: linked where possible.
  const linked = spawnSync('cp', ['-al', 'node_modules', folder], { cwd: ROOT, stdio: 'ignore' });
  if (linked.status !== 0) execFileSync('cp', ['-a', 'node_modules', folder], { cwd: ROOT });
  return folder;
};
const existing = (list: Buffer): readonly string[] =>
  list
    .toString()
    .split('\0')
    .filter((name) => name !== '');

/** Like a project in which `npm install` was run. */
const project = (): string => {
  const folder = temporary();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
};

/** What Go and cargo keep in the real home: packages that Go compiled, downloaded crates, rustup's toolchain. */
const toolchains = (): NodeJS.ProcessEnv => {
  const { CARGO_HOME, GOCACHE, RUSTUP_HOME, XDG_CACHE_HOME } = process.env;
  return {
    CARGO_HOME: CARGO_HOME ?? join(homedir(), '.cargo'),
    RUSTUP_HOME: RUSTUP_HOME ?? join(homedir(), '.rustup'),
    GOCACHE: GOCACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'go-build'),
  };
};

const setUp = async ({ folder, cluster: size, programs = [], before, operator }: Stage): Promise<Session> => {
  const scratch = temporary();
  const path = [commands(), dirname(process.execPath)];
  let cluster: Cluster | undefined;
  if (size !== undefined) {
    cluster = await startCluster({ size, controllerManager: true, scheduler: true });
    const { stop } = cluster;
    endings.push(() => stop());
    path.push(await findBinaries(places(), ['kubectl'], () => {}));
    if (size === 'control-plane') {
      const end = new AbortController();
      const kubelet = playKubelet(connectTo(cluster, end.signal));
      endings.push(() => {
        kubelet.stop();
        end.abort();
      });
    }
    if (programs.includes('nginx') && 'node' in cluster) await loadNginx(cluster as never, program('nginx'));
    await before?.(cluster);
  }
  if (programs.includes('nginx')) path.push(dirname(program('nginx')));
  if (programs.includes('postgresql')) path.push(program('postgresql'));
  const session = new Session(folder === 'copy' ? copy() : project(), scratch, {
    PATH: [...path, process.env.PATH ?? ''].join(':'),
    HOME: scratch,
    ...toolchains(),
    ...(process.env.XDG_CACHE_HOME === undefined ? {} : { XDG_CACHE_HOME: process.env.XDG_CACHE_HOME }),
    HANDOVER_CLUSTER_CACHE: places().cache,
    ...(cluster === undefined ? {} : { KUBECONFIG: cluster.kubeconfig }),
    // Downloads nothing: a missing package is an error.
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  });
  endings.push(() => session.end());
  if (operator !== undefined) await install(session, operator);
  return session;
};

const installed = (text: string): Step => ({ text, line: 0, exitCode: 0 });
const install = async (session: Session, flags: string): Promise<void> => {
  const openShift = flags.includes('service-ca') ? ' --openshift' : '';
  for (const text of [
    `handover install${openShift} | kubectl apply -f -`,
    'kubectl wait --for=condition=Established crd --all --timeout=60s',
  ]) {
    const { code, stderr } = await session.run(installed(text));
    expect(code, stderr).toBe(0);
  }
  await session.start(
    installed(`handover operator ${flags} --health-address 127.0.0.1:0`),
    /"event":"leads"/,
  );
};

/** Pauses for a human reader are cut out. */
const hurried = (text: string): string => text.replaceAll('reloadWithin: 3m', 'reloadWithin: 2s');

const isLeftOut = (document: string, step: Step): boolean =>
  NOT_RUN.some(([where, command]) => where === document && command === plain(step));

/** The rest of `npm ci && …` when `.ci/run` runs the first part as a separate step; undefined: nothing. */
const withoutStepsOfCi = (step: Step): Step | undefined => {
  const parts = plain(step).split(' && ');
  const left = parts.filter((part) => !isStepOfCi(part));
  if (left.length === parts.length) return step;
  return left.length === 0 ? undefined : { ...step, text: left.join(' && ') };
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const isRunHere = (document: string): boolean =>
  stepsIn(document).length > 0 && RUN_ELSEWHERE[document] === undefined;

/** Whether its commands start a server on a port of this machine: two such documents would want the same port. */
const serves = (document: string): boolean =>
  stepsIn(document).some((step) => SERVERS.some((command) => command.test(plain(step))));

/** Documents whose commands start servers on this machine, and the others, which can be run beside them. */
export const SERVING: readonly string[] = DOCUMENTS.filter(isRunHere).filter(serves);
export const OTHERS: readonly string[] = DOCUMENTS.filter(isRunHere).filter((one) => !serves(one));

/** Runs every command of a document, in order, in one shell. */
export const runDocument = async (document: string): Promise<void> => {
  const begun = Date.now();
  const session = await setUp(STAGES[document] ?? {});
  let ran = 0;
  let shown = { output: '', at: '' };
  for (const block of blocksIn(document)) {
    const at = `${document}:${block.line}`;
    const file = fileNameIn(block);
    if (block.language === 'text' && block.follows) {
      expect(difference(block.text, shown.output), `${shown.at} shows something else`).toBeUndefined();
    } else if (block.language === 'sh') {
      shown = { output: '', at };
      for (const written of stepsOf(block.text, block.line)) {
        const where = `${document}:${written.line}: ${written.text}`;
        const step = isLeftOut(document, written) ? undefined : withoutStepsOfCi(written);
        if (step === undefined) {
          say(`  not here     ${where}`);
          continue;
        }
        const [, ready, readyFile] = LONG_RUNNING.find(([command]) => command.test(plain(step))) ?? [];
        const from = Date.now();
        if (ready !== undefined) {
          await session.start(step, ready);
          const path = readyFile === undefined ? undefined : join(await session.folder(), readyFile);
          await eventually(() => path === undefined || existsSync(path));
        } else {
          const { code, stdout, stderr } = await session.run(step);
          expect(code, `${where}\n${stdout.slice(-3_000)}${stderr.slice(-3_000)}\n${session.logs()}`).toBe(
            step.exitCode,
          );
          shown.output += stdout;
        }
        ran++;
        say(`  ${((Date.now() - from) / 1000).toFixed(1).padStart(6)} s     ${where.split('\n')[0]}`);
      }
    } else if (file !== undefined) {
      const path = join(await session.folder(), file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, hurried(block.text), { mode: 0o644 });
    }
  }
  say(`${document}: ${ran} commands, ${((Date.now() - begun) / 1000).toFixed(1)} s`);
};
