import { configMaps, deployments, secrets } from '@handover/kube';
import { expect } from 'vitest';
import { FOREIGN_CASES } from './foreign-cases.ts';
import { failsWith, type OwnCase, put } from './own-world.ts';
import { freshName, joined, TARGET_KEY } from './world.ts';

export const OWN_CASES: readonly OwnCase[] = [
  ...FOREIGN_CASES,
  {
    name: 'sources by label are those of the trust namespace: a tenant’s ConfigMap with that label does nothing',
    run: async (scene, world) => {
      const [, , , four, five] = world.cas;
      const labels = { from: scene.name };
      const tenants = freshName('tenant');
      await put(world, 'shop', tenants, { 'ca.crt': five }, labels);
      // The same name, but nobody labelled it here.
      await scene.putConfigMap(tenants, { 'ca.crt': five });
      await scene.putConfigMap(freshName('source'), { 'ca.crt': four }, labels);
      await scene.addSource({ configMap: { selector: { matchLabels: labels }, key: 'ca.crt' } });
      await scene.synced(joined(...scene.base, four));
      await scene.putConfigMap(freshName('source'), { 'ca.crt': five }, labels);
      await scene.synced(joined(...scene.base, four, five));
    },
  },
  {
    name: 'a source that does not exist is named, and the targets keep what they have',
    run: async (scene, { trustNamespace }) => {
      await scene.addSource({ configMap: { name: 'not-there', key: 'ca.crt' } });
      await failsWith(scene, 'SourceNotFound', `${trustNamespace}/not-there`);
      expect((await scene.target())?.data?.[TARGET_KEY]).toBe(joined(...scene.base));
    },
  },
  ...(
    [
      ['cut short', (pem: string) => pem.slice(0, 200), 'cut short'],
      [
        'with a private key',
        (pem: string) => `${pem}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n`,
        'PRIVATE KEY',
      ],
    ] as const
  ).map(
    ([what, damage, word]): OwnCase => ({
      name: `a source ${what} is named, and the targets keep the last good bundle until it is mended`,
      run: async (scene, { cas: [one, two, three, four], trustNamespace }) => {
        await scene.putConfigMap(scene.configMap, { 'configMap-key': damage(one) });
        await failsWith(scene, 'SourceBuildError', `${trustNamespace}/${scene.configMap}`, word);
        expect((await scene.target())?.data?.[TARGET_KEY]).toBe(joined(...scene.base));
        await scene.putConfigMap(scene.configMap, { 'configMap-key': four });
        await scene.synced(joined(two, three, four));
      },
    }),
  ),
  {
    name: 'no key of a TLS Secret is included with all of its keys',
    run: async (scene, { kube, trustNamespace: namespace }) => {
      const name = freshName('tls');
      await kube.create(
        secrets,
        {
          apiVersion: 'v1',
          kind: 'Secret',
          type: 'kubernetes.io/tls',
          metadata: { name, namespace },
          data: { 'tls.crt': '', 'tls.key': '' },
        },
        { namespace },
      );
      await scene.addSource({ secret: { name, includeAllKeys: true } });
      await failsWith(scene, 'SourceBuildError', name, 'kubernetes.io/tls');
    },
  },
  {
    name: 'what trust-manager’s webhook would refuse is said in the status',
    run: async (scene) => {
      await scene.change((spec) => {
        spec.target.configMap = { key: TARGET_KEY, metadata: { labels: { 'trust-manager.io/x': 'y' } } };
      });
      await failsWith(scene, 'SpecInvalid', 'trust-manager.io');
      await scene.change((spec) => {
        spec.target.configMap = { key: TARGET_KEY };
        spec.target.additionalFormats = { jks: { key: TARGET_KEY } };
      });
      await failsWith(scene, 'SpecInvalid', 'additionalFormats');
      await scene.change((spec) => {
        delete spec.target.additionalFormats;
        spec.sources.push({ configMap: { name: scene.name, key: TARGET_KEY } });
      });
      await failsWith(scene, 'SpecInvalid', 'sources[3]');
    },
  },
  {
    name: 'a Secret as target has the same contents, and goes when it is no longer asked for',
    run: async (scene) => {
      await scene.change(({ target }) => {
        target.secret = { key: 'ca.crt' };
        target.additionalFormats = { pkcs12: { key: 'ca.p12' } };
      });
      await scene.until(
        'the Secret',
        async () => (await scene.secretTarget())?.data?.['ca.p12'] !== undefined,
      );
      const { data = {} } = (await scene.secretTarget()) ?? {};
      expect(Buffer.from(data['ca.crt'] ?? '', 'base64').toString()).toBe(joined(...scene.base));
      await scene.change(({ target }) => {
        delete target.secret;
      });
      await scene.until('the Secret goes', async () => (await scene.secretTarget()) === undefined);
      expect((await scene.target())?.data?.[TARGET_KEY]).toBe(joined(...scene.base));
    },
  },
  {
    name: 'a target whose label was taken away is right again',
    run: async (scene, { kube }) => {
      const labels = { 'trust.cert-manager.io/bundle': null };
      const target = { namespace: 'kube-system', name: scene.name };
      await kube.patch(configMaps, target, { merge: { metadata: { labels } }, fieldManager: 'a-person' });
      await scene.until('the label', async () => {
        const found = await scene.target();
        return found?.metadata.labels?.['trust.cert-manager.io/bundle'] === scene.name;
      });
    },
  },
  {
    name: 'a label that somebody changed on a target comes back',
    run: async (scene) => {
      await scene.change(({ target }) => {
        target.configMap = { key: TARGET_KEY, metadata: { labels: { team: 'a' } } };
      });
      await scene.everywhere('the label', ({ metadata }) => metadata.labels?.team === 'a');
      await scene.edit('kube-system', (target) => {
        target.metadata = { ...target.metadata, labels: { ...target.metadata.labels, team: 'b' } };
      });
      await scene.until(
        'the label is back',
        async () => (await scene.target())?.metadata.labels?.team === 'a',
      );
    },
  },
  {
    name: 'a target that is changed again and again is left, and named',
    run: async (scene) => {
      const restored = async (): Promise<boolean> =>
        (await scene.target())?.data?.[TARGET_KEY] === joined(...scene.base);
      const isNamed = async (): Promise<boolean> =>
        (await scene.condition())?.message.includes('changed again and again') === true;
      for (let edits = 0; edits < 20 && !(await isNamed()); edits++) {
        await scene.edit('kube-system', (target) => {
          target.data = { [TARGET_KEY]: `edit ${edits}` };
        });
        await scene.until('restored, or named', async () => (await restored()) || (await isNamed()));
      }
      await failsWith(scene, 'SyncConfigMapTargetFailed', `kube-system/${scene.name}`, 'again and again');
    },
  },
  {
    name: 'while trust-manager runs in the trust namespace nothing is written; a Deployment of a tenant does not count',
    run: async (scene, world) => {
      const { kube, trustNamespace, events, cas } = world;
      const make = async (namespace: string): Promise<string> => {
        const name = freshName('trust-manager');
        const labels = { 'app.kubernetes.io/name': 'trust-manager' };
        const containers = [{ name: 'trust-manager', image: 'none' }];
        await kube.create(
          deployments,
          {
            apiVersion: 'apps/v1',
            kind: 'Deployment',
            metadata: { name, namespace, labels },
            spec: {
              selector: { matchLabels: labels },
              template: { metadata: { labels }, spec: { containers } },
            },
          },
          { namespace },
        );
        await kube.patch(
          deployments,
          { namespace, name, subresource: 'status' },
          { merge: { status: { replicas: 1, readyReplicas: 1 } }, fieldManager: 'test' },
        );
        return name;
      };
      await make('shop');
      await scene.afterAnotherPass();
      const name = await make(trustNamespace);
      const said = () =>
        events.some(
          (event) =>
            event.kind === 'failed' && (event.error as Error).message.includes(`${trustNamespace}/${name}`),
        );
      await scene.until('it is said', async () => said());
      await scene.addSource({ inLine: cas[3] });
      expect((await scene.target())?.data?.[TARGET_KEY]).toBe(joined(...scene.base));
      await kube.delete(deployments, { namespace: trustNamespace, name });
      await scene.synced(joined(...scene.base, cas[3]));
    },
  },
];
