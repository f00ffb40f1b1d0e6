import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { besideRuntime } from '../../test/beside-runtime.ts';
import { attempt, endProcesses, type Form, pidsOf, placeOf, sorted, speaksFor } from '../../test/family.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { eventually } from '../../test/world.ts';
import { joinSibling } from './http.ts';

const one = new MockCa('one');
const two = new MockCa('two');

/** Each worker follows a file of its own, so that a test can leave one behind. */
const WORKER = `
import cluster from 'node:cluster';
import { openTrust, serveStatus } from './runtime.mjs';
const { volumes, place } = JSON.parse(process.env.WORLD);
const trust = await openTrust(volumes[(cluster.worker.id - 1) % volumes.length] + '/ca.crt');
const server = await serveStatus({ ...place, sources: [trust] }).catch((error) => ({ code: error.code }));
process.on('message', async (asked) => {
  if (asked === 'leave') { await server.close(); process.send({ left: process.pid }); }
  if (asked === 'hang') { process.send({ hanging: process.pid }); setTimeout(() => { const end = Date.now() + 60_000; while (Date.now() < end); }, 20); }
});
process.send({ ready: process.pid, code: server.code });
`;

/** As PM2's daemon: knows nothing of this package. Commands come from the test, one a line. */
const PRIMARY = `
const cluster = require('node:cluster');
cluster.setupPrimary({ exec: __dirname + '/worker.mjs' });
cluster.on('message', (worker, message) => console.log(JSON.stringify(message)));
cluster.on('exit', (worker) => console.log(JSON.stringify({ ended: worker.process.pid })));
for (let i = 0; i < Number(process.argv[2]); i++) cluster.fork();
process.stdin.on('data', (data) => {
  for (const line of String(data).trim().split('\\n')) {
    const { kill, tell, pid, fork } = JSON.parse(line);
    if (fork) cluster.fork();
    for (const worker of Object.values(cluster.workers)) {
      if (worker.process.pid !== pid) continue;
      if (kill) worker.process.kill(kill);
      if (tell) worker.send(tell);
    }
  }
}).on('end', () => process.exit());
`;

const stage = besideRuntime({ 'worker.mjs': WORKER, 'primary.cjs': PRIMARY });

interface Said {
  readonly ready?: number;
  readonly code?: string;
  readonly ended?: number;
  readonly left?: number;
  readonly hanging?: number;
}

class Cluster {
  readonly said: Said[] = [];
  readonly #child: ChildProcess;

  constructor(workers: number, world: { volumes: readonly string[]; place: object }) {
    this.#child = spawn(process.execPath, [join(stage.dir, 'primary.cjs'), String(workers)], {
      env: { PATH: process.env.PATH, WORLD: JSON.stringify(world) },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.trim().split('\n')) this.said.push(JSON.parse(line) as Said);
    });
    stage.scope.after(() => endProcesses([this.#child.pid ?? 0]));
  }

  tell(command: object): void {
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
  }

  /** Process ids of the workers that are ready. */
  async ready(count: number): Promise<readonly number[]> {
    await eventually(() => this.said.filter(({ ready }) => ready !== undefined).length >= count);
    return this.said.flatMap(({ ready }) => (ready === undefined ? [] : [ready]));
  }
}

describe.each<Form>(['port', 'socket', 'file'])('Workers of one cluster, status by %s', (form) => {
  const start = async (workers: number) => {
    const { place, read } = await placeOf(form, stage.scope.volume({}).dir);
    const volumes = Array.from({ length: 3 }, () => stage.scope.volume({ 'ca.crt': one.pem }));
    const cluster = new Cluster(workers, { volumes: volumes.map((volume) => volume.dir), place });
    return { cluster, read, place, volumes, pids: await cluster.ready(workers) };
  };

  test(`workers of one cluster all count in the status by ${form}: a worker that is behind is in every answer`, async () => {
    const { read, volumes, pids, cluster } = await start(3);
    expect(cluster.said.filter(({ code }) => code !== undefined)).toEqual([]);
    for (const volume of volumes.slice(0, 2)) volume.write({ 'ca.crt': two.pem + one.pem });
    await eventually(
      async () => (await attempt(read))?.sources.some(({ anchors }) => anchors?.length === 2) === true,
    );
    await speaksFor(read, pids);
    for (let i = 0; i < 9; i++) {
      const document = await read();
      expect(pidsOf(document)).toEqual(sorted(pids));
      // On a busy machine one may not answer within a second for once: it is in the document all the same.
      if (document.processes.some(({ silent }) => silent === true)) continue;
      const held = document.sources.flatMap(({ pids: holders = [], anchors = [] }) =>
        holders.map((pid) => [pid, anchors.length] as const),
      );
      expect(held).toHaveLength(3);
      expect(held.some(([, anchors]) => anchors === 1)).toBe(true);
    }
    volumes[2]?.write({ 'ca.crt': two.pem + one.pem });
    await eventually(async () => {
      const sources = (await attempt(read))?.sources ?? [];
      return sources.length > 0 && sources.every(({ anchors }) => anchors?.length === 2);
    });
  });

  test(`a worker that was killed no longer counts in the status by ${form}; another answers for all that are left`, async () => {
    const { cluster, read, pids } = await start(3);
    await eventually(async () => (await attempt(read))?.processes.length === 3);
    const { pid } = await read();
    cluster.tell({ kill: 'SIGKILL', pid });
    const left = sorted(pids.filter((other) => other !== pid));
    // Never an answer for fewer than are left.
    await eventually(async () => {
      const document = await attempt(read);
      if (document === undefined) return false;
      expect(pidsOf(document)).toEqual(expect.arrayContaining([...left]));
      return (
        JSON.stringify(pidsOf(document)) === JSON.stringify(left) &&
        document.processes.every(({ silent }) => silent === undefined)
      );
    });
    cluster.tell({ fork: true });
    await eventually(async () => (await attempt(read))?.processes.length === 3);
  });

  test(`a worker that has just started does not answer for itself alone in the status by ${form}`, async () => {
    const { cluster, read } = await start(2);
    await eventually(async () => (await attempt(read))?.processes.length === 2);
    const { pid: leader, processes } = await read();
    const busy = processes.find(({ pid }) => pid !== leader)?.pid ?? 0;
    cluster.tell({ kill: 'SIGSTOP', pid: busy });
    cluster.tell({ kill: 'SIGKILL', pid: leader });
    cluster.tell({ fork: true });
    const [, , fresh = 0] = await cluster.ready(3);
    await eventually(async () => (await attempt(read))?.pid === fresh);
    expect((await read()).processes).toEqual([{ pid: fresh }, { pid: busy, silent: true }]);
    cluster.tell({ kill: 'SIGCONT', pid: busy });
    await speaksFor(read, [fresh, busy]);
  });

  test(`a worker that hangs is named in the status by ${form}, and is silent`, async () => {
    const { cluster, read, pids } = await start(2);
    await eventually(async () => (await attempt(read))?.processes.length === 2);
    const { pid: leader } = await read();
    const other = pids.find((pid) => pid !== leader);
    cluster.tell({ tell: 'hang', pid: other });
    await eventually(() => cluster.said.some(({ hanging }) => hanging === other));
    await eventually(async () => {
      const silent = (await attempt(read))?.processes.filter((process) => process.silent === true);
      return silent?.length === 1 && silent[0]?.pid === other;
    });
  });

  test(`a worker that closes its status by ${form} leaves; the others are answered for`, async () => {
    const { cluster, read, pids } = await start(3);
    await eventually(async () => (await attempt(read))?.processes.length === 3);
    const { pid } = await read();
    cluster.tell({ tell: 'leave', pid });
    await eventually(() => cluster.said.some(({ left }) => left === pid));
    const left = sorted(pids.filter((other) => other !== pid));
    await eventually(async () => {
      const document = await attempt(read);
      return (
        document !== undefined &&
        document.pid !== pid &&
        JSON.stringify(pidsOf(document)) === JSON.stringify(left)
      );
    });
  });

  if (form !== 'port') return;

  test(`a process outside the cluster cannot join its status by ${form}`, async () => {
    const { read, place } = await start(2);
    await eventually(async () => (await attempt(read))?.processes.length === 2);
    const socket = await joinSibling({ host: '127.0.0.1', ...place });
    if (socket !== undefined && !socket.destroyed) await once(socket, 'close');
    expect((await read()).processes).toHaveLength(2);
  });

  test.skipIf(process.getuid?.() !== 0)(
    `a process of another user cannot speak for a worker in the status by ${form}, even with its process id`,
    async () => {
      const { read, place, pids } = await start(2);
      await eventually(async () => (await attempt(read))?.processes.length === 2);
      const { pid: leader } = await read();
      const other = pids.find((pid) => pid !== leader);
      const headers = { connection: 'upgrade', upgrade: 'handover-siblings', 'handover-pid': other };
      const options = { host: '127.0.0.1', path: '/handover/status', headers, ...place };
      // It changes its user by itself: another one may not be allowed to start this Node.
      const code = `process.setuid(Number(process.argv[1]));
        const ask = require('node:http').request(${JSON.stringify(options)});
        ask.on('upgrade', () => console.log('joined')).on('error', () => console.log('refused')).end();`;
      const joins = async (uid: number): Promise<string> => {
        const child = spawn(process.execPath, ['-e', code, String(uid)], {
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        stage.scope.after(() => child.kill('SIGKILL'));
        const [text] = await once(child.stdout, 'data');
        return String(text).trim();
      };
      expect(await joins(65_534)).toBe('refused');
      expect(await joins(0)).toBe('joined');
    },
  );
});
