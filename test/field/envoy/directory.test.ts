// Envoy (BoringSSL) with files of a directory home, through rotations under load.
// Against: Envoy (BoringSSL) beside Node programs, with files.
import { cpSync, mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { envoyVersion } from '../src/envoy.ts';
import { Load } from '../src/load.ts';
import { expectNoneFailed, show } from '../src/pod-traffic.ts';
import { handover } from '../src/processes.ts';
import { ENVOYS, setStage } from './stage.ts';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** 10 directions: 60 handshakes a second. */
const RATE = 6;
/** On a busy machine calls are late, but a direction must never be silent. */
const LEAST = { each: 0.5, inAll: 8 };

test('S3.6 Envoy as mTLS server and client in a directory home: three rotations under load, 0 failed', async () => {
  const stage = await setStage();
  const load = new Load(stage.directions, RATE);
  const HANDSHAKES = /^cluster\..*\.ssl\.handshake$/;
  const before = new Map<string, number>();
  for (const name of ENVOYS) before.set(name, await stage.stat(name, HANDSHAKES));
  // Counted while no call is under way, before and after.
  const whole = await load.during(async () => {
    load.start();
    expect(stage.directions).toHaveLength(10);
    for (const rotation of [1, 2, 3]) {
      const figures = await load.during(async () => {
        const home = ['--home', `dir:${stage.dir}`, '--wait', '--timeout', '25m'];
        const ended = await stage.handover('rotate', 'field', '--id', `r${rotation}`, ...home);
        expect(ended).toMatchObject({ code: 0 });
        // Also catches programs that are slow to load the last change.
        await pause(3_000);
      });
      show(`Envoy ${envoyVersion()}, directory, rotation ${rotation}`, figures);
      expectNoneFailed(figures, LEAST);
      for (const name of ENVOYS) {
        expect(await stage.stat(name, /\.ssl\.session_reused$/)).toBe(0);
        expect(await stage.stat(name, /^cluster\..*\.ssl\.(connection_error|fail_verify\w*)$/)).toBe(0);
        expect(await stage.stat(name, /sds\..*\.update_rejected$/)).toBe(0);
      }
    }
    await load.stop();
  });
  expect(whole).toMatchObject({ failed: 0 });
  for (const name of ENVOYS) {
    // Each request through an Envoy was a full handshake of its own.
    const through = Object.entries(whole.directions)
      .filter(([direction]) => direction.startsWith(name))
      .reduce((sum, [, { ok }]) => sum + ok, 0);
    expect(through).toBeGreaterThan(0);
    expect((await stage.stat(name, HANDSHAKES)) - (before.get(name) ?? 0)).toBeGreaterThanOrEqual(through);
  }
  const { stdout } = await stage.handover('status', '--json', '--home', `dir:${stage.dir}`);
  const [authority] = JSON.parse(stdout).authorities;
  expect(authority).toMatchObject({ phase: 'Stable', generations: [{ generation: 4 }] });
  for (const name of ENVOYS)
    expect(authority.consumers).toContainEqual(expect.objectContaining({ name, evidence: 'probed' }));
});

test('S3.6 the same load sees a rotation that replaces everything at once', async () => {
  const stage = await setStage();
  await stage.stopHandover();
  // The same names from another CA, put in place as the kubelet does.
  const other = join(stage.dir, 'other');
  mkdirSync(other);
  cpSync(join(stage.dir, 'handover.yaml'), join(other, 'handover.yaml'));
  expect(await handover('run', other, '--once')).toMatchObject({ code: 0 });
  const load = new Load(stage.directions, RATE);
  load.start();
  const figures = await load.during(async () => {
    for (const name of [...ENVOYS, 'hot', 'late']) {
      const [from, to] = [join(other, 'out/default/secrets', name), stage.tls(name)];
      cpSync(`${from}/`, join(to, '..replaced'), { recursive: true, dereference: true });
      symlinkSync('..replaced', join(to, '..data_tmp'));
      renameSync(join(to, '..data_tmp'), join(to, '..data'));
    }
    await pause(12_000);
  });
  await load.stop();
  show(`Envoy ${envoyVersion()}, everything replaced at once (not by Handover)`, figures);
  expect(figures.failed).toBeGreaterThan(50);
  // Both an Envoy and its peers refused.
  expect(await stage.stat('envoy-a', /^cluster\..*\.ssl\.fail_verify_error$/)).toBeGreaterThan(0);
  expect(figures.reasons.join('\n')).toMatch(/late → envoy-a: (UNABLE|SELF|CERT)/);
});
