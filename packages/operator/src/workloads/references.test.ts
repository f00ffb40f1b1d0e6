import type { KubeObject } from '@handover/kube';
import { expect, test } from 'vitest';
import { referencesOf } from './references.ts';

const pod = (spec: object): KubeObject => ({ metadata: { name: 'p' }, spec });
const found = (spec: object): string[] =>
  referencesOf(pod(spec)).map(
    ({ plural, name, keys, frozen }) =>
      `${plural}/${name}${keys === undefined ? '' : `[${keys.join()}]`}${frozen ? ' once' : ''}`,
  );
const volumes = [{ name: 'v', secret: { secretName: 's' } }];
const mount = (more: object = {}): object => ({ volumeMounts: [{ name: 'v', mountPath: '/v', ...more }] });

test.each<[string, object, string[]]>([
  ['a volume', { volumes, containers: [mount()] }, ['secrets/s']],
  ['a volume that no container mounts', { volumes, containers: [{}] }, []],
  ['a subPath', { volumes, containers: [mount({ subPath: 'ca.crt' })] }, ['secrets/s once']],
  ['a subPath by expression', { volumes, containers: [mount({ subPathExpr: '$(X)' })] }, ['secrets/s once']],
  [
    'one of two containers by subPath',
    { volumes, containers: [mount(), mount({ subPath: 'a' })] },
    ['secrets/s once'],
  ],
  ['an init container', { volumes, initContainers: [mount()], containers: [{}] }, ['secrets/s once']],
  [
    'an init container that runs on beside the others',
    { volumes, initContainers: [{ ...mount(), restartPolicy: 'Always' }], containers: [{}] },
    ['secrets/s'],
  ],
  ['an ephemeral container', { volumes, containers: [{}], ephemeralContainers: [mount()] }, ['secrets/s']],
  [
    'the environment',
    {
      containers: [
        {
          env: [
            { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'tls.crt' } } },
            { name: 'B', valueFrom: { configMapKeyRef: { name: 'c', key: 'ca.crt' } } },
            { name: 'C', value: 'x' },
          ],
        },
      ],
    },
    ['secrets/s[tls.crt] once', 'configmaps/c[ca.crt] once'],
  ],
  [
    'a whole object as environment, of an ephemeral container too',
    {
      containers: [{ envFrom: [{ secretRef: { name: 's' } }] }],
      ephemeralContainers: [{ envFrom: [{ configMapRef: { name: 'c' } }] }],
    },
    ['secrets/s once', 'configmaps/c once'],
  ],
  [
    'a projected volume',
    {
      volumes: [
        {
          name: 'v',
          projected: {
            sources: [
              { secret: { name: 's', items: [{ key: 'ca.crt', path: 'x' }] } },
              { configMap: { name: 'c' } },
              { clusterTrustBundle: { name: 'example.com:mesh:main', path: 'ca.crt' } },
              { serviceAccountToken: { path: 'token' } },
            ],
          },
        },
      ],
      containers: [mount()],
    },
    ['secrets/s[ca.crt]', 'configmaps/c', 'clustertrustbundles/example.com:mesh:main'],
  ],
  [
    'bundles of a signer, by labels; without a selector none is meant',
    {
      volumes: [
        {
          name: 'v',
          projected: {
            sources: [
              { clusterTrustBundle: { signerName: 'example.com/mesh', path: 'a', labelSelector: {} } },
              { clusterTrustBundle: { signerName: 'example.com/other', path: 'b' } },
            ],
          },
        },
      ],
      containers: [mount()],
    },
    ['clustertrustbundles/example.com:mesh:'],
  ],
  ['nothing that makes sense', { volumes: 7, containers: [null, 'x', { env: {}, volumeMounts: [1] }] }, []],
])('the Secrets and ConfigMaps that a pod reads are found: %s', (_, spec, expected) => {
  expect(found(spec)).toEqual(expected);
});
