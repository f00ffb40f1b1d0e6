import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IssuedEntry } from '@handover/engine';
import { connect, events, type KubeObject, namespaces, secrets } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { RESOURCE_KINDS } from '@handover/operator';
import { FakeApiServer } from '@handover/test-api-server';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { goOn } from '../../test/live.ts';
import { EventLog } from '../event-log.ts';
import { createLog } from '../log.ts';

const root = mkdtempSync(join(tmpdir(), 'handover-issued-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const resource = (kind: 'Authority' | 'Leaf', name: string, spec: object): KubeObject =>
  ({
    apiVersion: 'handover.dev/v1alpha1',
    kind,
    metadata: { name, namespace: 'default' },
    spec,
  }) as KubeObject;

test('an operator writes every certificate to its log at any level, with its requester, and in Events', async () => {
  const server = await FakeApiServer.start();
  onTestFinished(() => server.stop());
  for (const kind of Object.values(RESOURCE_KINDS)) server.serve(kind);
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const kube = connect(server.config, { signal: end.signal });
  const kubeconfig = join(root, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'x', cluster: { server: server.url } }],
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      users: [{ name: 'x', user: {} }],
      'current-context': 'x',
    }),
  );
  await kube
    .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
    .catch(() => {});
  const authority = await kube.create(
    RESOURCE_KINDS.Authority,
    resource('Authority', 'mesh', {
      rotation: { reloadWithin: '0s' },
      consumers: [{ name: 'web', presents: true, verifies: true, leaf: 'web', reload: 'hot' }],
    }),
    { fieldManager: 'helm' },
  );
  const leaf = await kube.create(
    RESOURCE_KINDS.Leaf,
    resource('Leaf', 'web', { authority: 'mesh', dnsNames: ['web.default.svc'], usages: ['server'] }),
    { fieldManager: 'argocd' },
  );
  const live = goOn([
    ...['operator', '--kubeconfig', kubeconfig, '--namespace', 'default'],
    ...['--health-address', '127.0.0.1:0', '--dashboard-address', '0', '--log-level', 'error'],
  ]);
  const issued = (): readonly (IssuedEntry & { readonly event: string })[] =>
    live
      .said()
      .trim()
      .split('\n')
      .filter((line) => line.includes('"event":"issued"'))
      .map((line) => JSON.parse(line));
  const soon = (look: () => void | Promise<void>): Promise<void> =>
    vi.waitFor(look, { timeout: 60_000, interval: 100 });
  await soon(() => expect(issued()).toHaveLength(2));
  await kube.patch(
    RESOURCE_KINDS.Authority,
    { namespace: 'default', name: 'mesh' },
    {
      merge: { metadata: { annotations: { 'handover.dev/rotate': 'q1' } } },
      fieldManager: 'kubectl-annotate',
    },
  );
  await soon(() => expect(issued()).toHaveLength(5));
  expect(issued().map(({ kind, generation, askedBy }) => [kind, generation, askedBy])).toEqual([
    ['ca', 1, { via: 'resource', manager: 'helm' }],
    ['leaf', 1, { via: 'resource', manager: 'argocd' }],
    ['ca', 2, { via: 'annotation', manager: 'kubectl-annotate' }],
    ['cross', 1, { via: 'annotation', manager: 'kubectl-annotate' }],
    ['leaf', 2, { via: 'resource', manager: 'argocd' }],
  ]);
  expect(issued()[1]).toMatchObject({
    level: 'info',
    authority: 'default/mesh',
    for: { kind: 'Leaf', namespace: 'default', name: 'web', uid: leaf.metadata.uid },
    dnsNames: ['web.default.svc'],
  });
  expect(issued()[0]?.for.uid).toBe(authority.metadata.uid);
  await soon(async () => {
    const stored = await kube.get(secrets, { namespace: 'default', name: 'web' });
    const [served] = parseCertificates(
      Buffer.from(stored?.data?.['tls.crt'] ?? '', 'base64').toString(),
    ).certificates;
    expect(issued().at(-1)?.fingerprint).toBe(served?.fingerprint);
  });
  await soon(async () => {
    const { items } = await kube.list(events, { namespace: 'default' });
    const told = (
      items as unknown as readonly { reason: string; message: string; involvedObject: { kind: string } }[]
    )
      .filter(({ reason }) => reason === 'CertificateIssued')
      .map(({ involvedObject, message }) => `${involvedObject.kind}: ${message}`)
      .sort();
    expect(told).toEqual([
      expect.stringMatching(
        /^Authority: Issued the CA certificate of CA generation 1: serial [0-9a-f]+, valid until [^ ]+, requested by helm \(resource\), because /,
      ),
      expect.stringMatching(
        /^Authority: Issued the CA certificate of CA generation 2: serial .*, requested by kubectl-annotate \(annotation\), /,
      ),
      expect.stringMatching(
        /^Authority: Issued the cross-certificate of CA generation 2, signed by CA generation 1: .*, requested by kubectl-annotate \(annotation\), /,
      ),
      expect.stringMatching(
        /^Leaf: Issued a certificate signed by CA generation 1 for web\.default\.svc: serial .*, requested by argocd \(resource\), /,
      ),
      expect.stringMatching(
        /^Leaf: Issued a certificate signed by CA generation 2 for web\.default\.svc: serial .*, requested by argocd \(resource\), /,
      ),
    ]);
  });
  expect(live.said()).not.toContain('"event":"acted"');
  const status = goOn([
    ...['status', 'default/mesh', '--json', '--home', 'kube', '--kubeconfig', kubeconfig],
    ...['--operator-namespace', 'default'],
  ]);
  await soon(() => expect(status.said()).toContain('\n'));
  const { history } = JSON.parse(status.said()).authorities[0];
  expect(history[1]).toMatchObject({
    step: 'mint',
    rotation: 'q1',
    askedBy: { via: 'annotation', manager: 'kubectl-annotate' },
  });
  expect(history[2]).toMatchObject({
    step: 'activate',
    evidence: [{ consumer: 'web', by: 'unused', at: null }],
  });
}, 120_000);

test('one certificate is one line with one time, at every level', () => {
  let text = '';
  const log = createLog({ level: 'error', now: () => Date.UTC(2030, 0, 1), write: (line) => (text += line) });
  const entry = { at: 'then', kind: 'ca', authority: 'a/b', generation: 1 } as unknown as IssuedEntry;
  new EventLog(log).on({ kind: 'issued', entry });
  expect(text).toBe(
    '{"level":"info","at":"2030-01-01T00:00:00.000Z","event":"issued","kind":"ca","authority":"a/b","generation":1}\n',
  );
});
