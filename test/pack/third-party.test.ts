import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../api-server/src/free-port.ts';
import { nodeOf, project } from './src/project.ts';
import { start } from './src/run.ts';
import { cas, Files, leaves } from './src/world.ts';

const cwd = project('third-party', ['http-server@14.1.1']);
const [one, two] = cas;

interface Running {
  readonly files: Files;
  readonly port: number;
  /** Waits until the process says that it has loaded this many versions of both files. */
  loaded(trust: number, identity: number): Promise<void>;
}

/** http-server from the registry, unchanged, with its certificate and key in files. */
const httpServer = async (node: string, root: string, args: readonly string[] = []): Promise<Running> => {
  const files = new Files(cwd);
  const [port, statusPort] = [await freePort(), await freePort()];
  const program = join(cwd, 'node_modules/http-server/bin/http-server');
  const tls = ['-S', '-C', files.path('tls.crt'), '-K', files.path('tls.key')];
  const { child } = start(
    cwd,
    node,
    [
      '--import',
      '@handover/runtime/register',
      program,
      root,
      '-p',
      `${port}`,
      '-a',
      '127.0.0.1',
      ...tls,
      ...args,
    ],
    { ...files.env, HANDOVER_STATUS: `${statusPort}` },
  );
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const loads = async (): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${statusPort}/handover/status`).catch(() => undefined);
    const document = (await answer?.json()) as { sources: { loads: number }[] } | undefined;
    return document?.sources.map((source) => source.loads).join() ?? '';
  };
  const loaded = async (...wanted: readonly number[]) => {
    const deadline = Date.now() + 30_000;
    for (let seen = await loads(); seen !== wanted.join(); seen = await loads()) {
      if (Date.now() > deadline) throw new Error(`loads ${wanted} never came, last seen: ${seen}`);
      await new Promise((tick) => setTimeout(tick, 20));
    }
  };
  await loaded(1, 1);
  return { files, port, loaded };
};

test.each(['20.19.0', '24'])(
  'http-server, as server and as client of another, is rotated under load without a failed request, on Node %s',
  async (version) => {
    const node = nodeOf(version);
    const [full, empty] = [join(cwd, `full-${version}`), join(cwd, `empty-${version}`)];
    for (const folder of [full, empty]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(full, 'hello.txt'), 'hello');
    const back = await httpServer(node, full);
    // What the front does not find it asks the back for, over TLS that it verifies.
    const front = await httpServer(node, empty, ['-P', `https://localhost:${back.port}/`]);

    const issuers = new Set<string>();
    const request = (ca: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const agent = new Agent({ keepAlive: false });
        get(`https://localhost:${front.port}/hello.txt`, { ca, agent }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (more) => {
            text += more;
          });
          response.on('end', () => resolve(`${response.statusCode} ${text}`)).on('error', reject);
        })
          .on('socket', (socket) =>
            socket.once('secureConnect', () => {
              issuers.add((socket as import('node:tls').TLSSocket).getPeerX509Certificate()?.issuer ?? '');
            }),
          )
          .on('error', reject);
      });
    // The listener opens after the status does.
    const deadline = Date.now() + 30_000;
    while ((await request(one.pem).catch(() => '')) !== '200 hello')
      expect(Date.now()).toBeLessThan(deadline);

    const begun = Date.now();
    let answered = 0;
    const failed: string[] = [];
    let over = false;
    const load = async () => {
      while (!over) {
        const said = await request(one.pem + two.pem).catch(String);
        if (said === '200 hello') answered++;
        else failed.push(said);
      }
    };
    const loads = [load(), load()];
    const all = [back, front];
    const swap = async (files: Readonly<Record<string, string>>, ...loadsThen: readonly [number, number]) => {
      for (const { files: own } of all) own.put(files);
      await Promise.all(all.map((one) => one.loaded(...loadsThen)));
      const enough = answered + 100;
      while (answered < enough && failed.length === 0) await new Promise((tick) => setTimeout(tick, 5));
    };
    await swap({ 'ca.crt': one.pem + two.pem }, 2, 1);
    await swap({ 'tls.key': leaves[1]?.key ?? '', 'tls.crt': leaves[1]?.cert ?? '' }, 2, 2);
    await swap({ 'ca.crt': two.pem }, 3, 2);
    over = true;
    await Promise.all(loads);
    expect(failed).toEqual([]);
    expect(issuers.size).toBe(2);
    expect(await request(two.pem)).toBe('200 hello');
    const seconds = Math.round((Date.now() - begun) / 1_000);
    const exact = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
    console.log(`| http-server | 14.1.1 | ${exact} | ${answered} | ${failed.length} | ${seconds} |`);
  },
);
