import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { TestClock, temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { goOn, handover, NOW } from '../../test/capture.ts';

const root = temporaryFolder({ inMemory: true });

/** `handover run` with a page, for as long as `use` takes. */
const running = async (dir: string, use: (url: string) => Promise<void>): Promise<void> => {
  const clock = new TestClock(NOW);
  const live = goOn(['run', dir, '--dashboard-address', '0'], { clock });
  const found = (): string => /dashboard: (\S+)/.exec(live.said())?.[1] ?? '';
  await clock.until(() => found() !== '');
  await use(found());
  expect(await live.stop()).toBe(0);
};

const filesUnder = (path: string): readonly string[] =>
  statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => filesUnder(join(path, name))) : [path];

/** Lines of every private key in the directory, wherever it lies. */
const keyLinesIn = (dir: string): readonly string[] =>
  filesUnder(dir).flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----(.*?)-----END/gs)].flatMap(
      ([, body = '']) => body.split(/\s|\\n/).filter((line) => line.length > 20),
    ),
  );

test('the page of run shows what status says, until run ends, and no private key', async () => {
  const dir = join(root, 'home');
  await handover(['init', dir]);
  let address = '';
  await running(dir, async (url) => {
    address = url;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    await expect
      .poll(async () => ((await (await fetch(`${url}api/status`)).json()) as Shown).authorities[0]?.phase, {
        timeout: 60_000,
      })
      .toBe('Stable');
    await expect
      .poll(
        async () =>
          ((await (await fetch(`${url}api/status`)).json()) as Shown).authorities[0]?.leaves[0]?.generation,
        { timeout: 60_000 },
      )
      .toBe(1);
    const shown = (await (await fetch(`${url}api/status`)).json()) as Shown;
    const { stdout } = await handover(['status', '--json', '--home', `dir:${dir}`]);
    const { authorities, trustBundles, tlsProfiles, remarks } = shown;
    const { run, ...said } = JSON.parse(stdout);
    expect({ authorities, unusable: [], wrong: [], trustBundles, tlsProfiles, remarks }).toEqual(said);
    expect(run).toMatchObject({ pid: process.pid, problems: [] });
    const texts = await Promise.all(
      ['', 'page.js', 'api/status'].map(async (path) => (await fetch(`${url}${path}`)).text()),
    );
    const stream = await (await fetch(`${url}api/events`)).body?.getReader().read();
    const everything = [...texts, new TextDecoder().decode(stream?.value)].join('\n');
    const secrets = keyLinesIn(dir);
    // The CA's in its state, and the leaf's in its Secret, each more than one line.
    expect(secrets.length).toBeGreaterThanOrEqual(4);
    for (const secret of secrets) expect(everything).not.toContain(secret);
    expect(everything).not.toContain('PRIVATE KEY');
  });
  await expect(fetch(address)).rejects.toThrow();
});

interface Shown {
  readonly authorities: readonly {
    readonly phase: string;
    readonly leaves: readonly { readonly generation: number | null }[];
  }[];
  readonly trustBundles: unknown;
  readonly tlsProfiles: unknown;
  readonly remarks: unknown;
}

test('run opens no port for a page without --dashboard-address', async () => {
  const dir = join(root, 'quiet');
  await handover(['init', dir]);
  expect((await handover(['run', dir, '--once', '--dashboard-address', '0'])).stdout).not.toContain(
    'dashboard',
  );
  writeFileSync(join(dir, 'touched'), '');
  const clock = new TestClock(NOW);
  const live = goOn(['run', dir], { clock });
  await clock.until(() => live.said().includes('ready'));
  expect(await live.stop()).toBe(0);
  expect(live.said()).not.toContain('http');
});

test.each(['here', '127.0.0.1:', '127.0.0.1:70000', 'http://127.0.0.1:80'])(
  '--dashboard-address refuses %s, which is not an address',
  async (address) => {
    const ran = await handover(['run', root, '--dashboard-address', address]);
    expect(ran).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^USAGE: --dashboard-address: ".*" is not an address/),
    });
  },
);

test('run ends with one line if the port of its page is taken, and releases the directory', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const dir = join(root, 'taken');
  await handover(['init', dir]);
  expect(await handover(['run', dir, '--dashboard-address', `127.0.0.1:${port}`])).toMatchObject({
    code: 1,
    stderr: `PORT_TAKEN: port ${port} cannot be used (EADDRINUSE); choose another with --dashboard-address\n`,
  });
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0 });
  server.close();
});
