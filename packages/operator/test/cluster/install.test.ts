import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ApiRequest,
  allowed,
  type InstallOptions,
  installation,
  installationYaml,
  installedGrants,
} from '@handover/install';
import { namespaceObject } from '@handover/test-api-server';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Json, type Requests, requestsTo } from './requests.ts';

const wide: InstallOptions = {
  namespace: 'handover-system',
  image: 'handover:test',
  signers: ['example.com/mesh'],
};
const narrow: InstallOptions = { namespace: 'narrow', image: 'handover:test', namespaced: ['shop'] };

let cluster: Cluster;
let send: Requests;
let close = () => {};

beforeAll(async () => {
  cluster = await startCluster({ controllerManager: true });
  ({ send, close } = requestsTo(cluster));
  await cluster.apply(...['shop', 'other'].map((name) => namespaceObject(name)));
});
afterAll(async () => {
  close();
  await cluster?.stop();
});

const applied = async (options: InstallOptions): Promise<readonly string[]> => {
  const file = join(cluster.directory, `${options.namespace}.yaml`);
  writeFileSync(file, installationYaml(options));
  return (await cluster.kubectl('apply', '-f', file)).trim().split('\n');
};
const versions = async (options: InstallOptions): Promise<string> => {
  const file = join(cluster.directory, `${options.namespace}.yaml`);
  return cluster.kubectl(
    'get',
    '-f',
    file,
    '-o',
    'jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.generation}{"\\n"}{end}',
  );
};

test.each([
  ['in the whole cluster', wide],
  ['in one namespace', narrow],
])('kubectl applies an installation %s, and finds nothing to change the second time', async (_, options) => {
  const first = await applied(options);
  expect(first).toHaveLength(installation(options).length);
  const before = await versions(options);
  // kubectl sends a budget's whole selector each time and reports "configured"; its generation shows that nothing changed.
  expect((await applied(options)).filter((line) => !/ unchanged$|^poddisruptionbudget/.test(line))).toEqual(
    [],
  );
  expect(await versions(options)).toBe(before);
});

test('a namespace that enforces the restricted standard accepts the pods of the Deployment', async () => {
  const deployment = installation(wide).find(({ kind }) => kind === 'Deployment');
  if (deployment === undefined) throw new Error('no Deployment');
  const { template } = deployment.spec as { readonly template: Json };
  const pod = (change: (spec: Json) => Json) =>
    send('POST', '/api/v1/namespaces/handover-system/pods', {
      query: { dryRun: 'All' },
      body: {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'x', ...(template.metadata as Json) },
        spec: change(template.spec as Json),
      },
    });
  expect(await pod((spec) => spec)).toMatchObject({ code: 201 });
  expect((await pod((spec) => ({ ...spec, securityContext: {} }))).message).toContain(
    'violates PodSecurity "restricted',
  );
});

describe('allowed() answers as the API server does', () => {
  const account = ({ namespace }: InstallOptions) => `system:serviceaccount:${namespace}:handover`;
  const groups = [
    '',
    'apps',
    'handover.dev',
    'certificates.k8s.io',
    'apiregistration.k8s.io',
    'coordination.k8s.io',
    'apiextensions.k8s.io',
    'admissionregistration.k8s.io',
    'events.k8s.io',
    'rbac.authorization.k8s.io',
  ];
  const resources = [
    'secrets',
    'configmaps',
    'pods',
    'pods/status',
    'pods/exec',
    'deployments',
    'replicasets',
    'namespaces',
    'authorities',
    'authorities/status',
    'trustbundles',
    'clustertrustbundles',
    'signers',
    'apiservices',
    'leases',
    'events',
    'customresourcedefinitions',
    'validatingadmissionpolicies',
    'clusterroles',
    'serviceaccounts/token',
  ];
  const requests: readonly ApiRequest[] = resources.flatMap((path) =>
    ['get', 'list', 'create', 'update', 'patch', 'delete', 'attest'].flatMap((verb) =>
      [undefined, 'shop', 'other', 'handover-system', 'narrow'].flatMap((namespace) =>
        [undefined, 'handover', 'example.com/mesh'].flatMap((name) =>
          groups.map((group) => {
            const [resource = '', subresource] = path.split('/');
            return { verb, group, resource, subresource, namespace, name };
          }),
        ),
      ),
    ),
  );
  // Every allowed request, and one in twenty of the others: all 21,000 would take minutes.
  const sample = (options: InstallOptions) =>
    requests.filter((request, index) => allowed(installedGrants(options), request) || index % 20 === 0);

  test.each([
    ['in the whole cluster', wide],
    ['in one namespace', narrow],
  ])('%s', async (_, options) => {
    const differ: string[] = [];
    let granted = 0;
    const asked = sample(options);
    for (let at = 0; at < asked.length; at += 20) {
      await Promise.all(
        asked.slice(at, at + 20).map(async (request) => {
          const { code, body } = await send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
            body: {
              apiVersion: 'authorization.k8s.io/v1',
              kind: 'SubjectAccessReview',
              spec: { user: account(options), groups: ['system:authenticated'], resourceAttributes: request },
            },
          });
          const says = (body.status as { allowed?: boolean } | undefined)?.allowed === true;
          if (says) granted++;
          if (code !== 201 || says !== allowed(installedGrants(options), request))
            differ.push(JSON.stringify(request));
        }),
      );
    }
    expect(differ).toEqual([]);
    expect(granted).toBeGreaterThan(50);
    expect(asked.length).toBeGreaterThan(granted);
  });
});
