import type { AuthorityStatus, Status } from '@handover/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { isSettled, secretOf } from './looks.ts';
import { AUTHORITY, deployment, leaf, type Member, NAMESPACE } from './mesh.ts';
import { loadNginx, nginx } from './nginx.ts';
import { type RotationStage, setRotationStage } from './stage.ts';

// The evidence of pods, one of each kind, to the installed operator: a Deployment with only its own rights.
let stage: RotationStage;
const LONG = 600_000;
/** It serves the status document of another pod, as if it had that pod's address. */
const LIAR: Member = { name: 'liar', manner: 'hot', replicas: 1, ack: true };
/** Only its owner's annotation says that it reloads; a probe sees the leaf that it serves. */
const NGINX: Member = { name: 'nginx', manner: 'polling', replicas: 1 };
const WAITED_FOR = ['Deployment mesh/liar', 'Deployment mesh/nginx'];
const PLAIN: Member = { name: 'plain', manner: 'polling', replicas: 1, reload: 'hot', probe: '8443/mtls' };

const status = async (): Promise<AuthorityStatus> => {
  const told = await stage.handover('status', AUTHORITY, '--home', 'kube', '--json');
  const [authority] = (JSON.parse(told) as Status).authorities;
  if (authority === undefined) throw new Error('no status');
  return authority;
};

beforeAll(async () => {
  stage = await setRotationStage();
  await stage.installOperator();
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  await stage.cluster.apply(
    resource('Authority', 'mesh', { rotation: { reloadWithin: '20s' } }, NAMESPACE),
    ...[LIAR, NGINX, PLAIN].map((member) => leaf(member)),
  );
  for (const { name } of [LIAR, NGINX, PLAIN])
    await until(async () => (await secretOf(stage.kube, name)).cert !== '', `Secret ${name}`, LONG);
}, LONG);
afterAll(() => stage?.stop());

test(
  'a canary counts only beside a control that is refused, and a status document only from the pod that was asked; whatever else was declared is waited for',
  async () => {
    const image = await loadNginx(stage.cluster);
    if (image === undefined) throw new Error('this needs nginx: install it');
    const where = { image: stage.image, collector: stage.collectorUrl, rate: 1 };
    const liar = deployment(LIAR, where) as {
      spec: { template: { spec: { containers: { env: { name: string }[] }[] } } };
    };
    const [container] = liar.spec.template.spec.containers;
    if (container !== undefined)
      container.env = [
        ...container.env.filter(({ name }) => name !== 'POD_UID'),
        { name: 'POD_UID', value: 'another-pod' } as { name: string },
      ];
    await stage.cluster.apply(liar, deployment(PLAIN, where), ...nginx(image));
    await until(() => isSettled(stage.kube, [LIAR, NGINX, PLAIN]), 'three pods', LONG);
    await stage.handover('rotate', AUTHORITY, '--home', 'kube', '--id', 'one');
    const held = await until(
      async () => {
        const seen = await status();
        const names = new Set(seen.blockedBy.map(({ consumer }) => consumer));
        return seen.generations.length === 2 && [...names].sort().join() === WAITED_FOR.join()
          ? seen
          : undefined;
      },
      'only the liar and nginx to be waited for',
      200_000,
    );
    const evidence = new Map(held.consumers.map(({ name, evidence: by }) => [name, by]));
    expect(evidence.get('Deployment mesh/plain')).toBe('probed');
    // nginx accepts every handshake and refuses in HTTP: only the control shows that a handshake proves nothing here. What was
    // declared and cannot be read is no evidence, and its owner's word does not stand in for it.
    const why = held.blockedBy.find(({ consumer }) => consumer === 'Deployment mesh/nginx')?.waitsFor;
    expect(why).toContain('accepts a client certificate of an unknown CA');
    expect(evidence.get('Deployment mesh/liar')).toBeNull();
  },
  LONG,
);
