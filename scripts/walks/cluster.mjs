// An operator on the small API server, with one Authority.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crds } from '../../packages/install/dist/index.js';
import { FakeApiServer } from '../../test/api-server/dist/index.js';
import { HANDOVER } from './stage.mjs';

const ours = (kind, metadata, spec) => ({ apiVersion: 'handover.dev/v1alpha1', kind, metadata, spec });
const CONTENT_TYPES = {
  json: 'application/json',
  patch: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
};

/** A CRD of cert-manager, without its schema. */
const certManagerCrd = (kind) => {
  const plural = `${kind.toLowerCase()}s`;
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    subresources: { status: {} },
    schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.cert-manager.io` },
    spec: {
      group: 'cert-manager.io',
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [version],
    },
  };
};

export async function openCluster(stage) {
  const server = await FakeApiServer.start();
  stage.after(() => server.stop());
  const call = async (method, path, body, as = 'json') => {
    const answer = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': CONTENT_TYPES[as] },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  for (const crd of [...crds(), ...['Certificate', 'CertificateRequest'].map(certManagerCrd)])
    await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  for (const name of ['handover-system', 'prod'])
    await call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const authority = ours(
    'Authority',
    { name: 'mesh', namespace: 'prod' },
    { rotation: { reloadWithin: '0s' }, issueTo: { dnsNames: ['web.prod.svc'] } },
  );
  await call('POST', '/apis/handover.dev/v1alpha1/namespaces/prod/authorities', authority);
  return { server, call, ours };
}

/** An operator on it, once it has come to rest. */
export function startOperator(stage, { server }) {
  const kubeconfig = join(stage.folder, 'kubeconfig');
  const named = (kind, name, value) => ({ [`${kind}s`]: [{ name, [kind]: value }] });
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      ...named('cluster', 'small', { server: server.url }),
      ...named('user', 'anyone', {}),
      ...named('context', 'small', { cluster: 'small', user: 'anyone' }),
      'current-context': 'small',
    }),
  );
  const operator = stage.program(
    HANDOVER,
    'operator',
    ...['--kubeconfig', kubeconfig, '--namespace', 'handover-system', '--health-address', '127.0.0.1:0'],
  );
  operator.child.stdout.resume();
  return operator;
}
