import type { IssuedEntry } from '@handover/engine';
import { events, secrets } from '@handover/kube';
import { instant, parseCertificates } from '@handover/material';
import { RESOURCE_KINDS } from '@handover/operator';
import { expect, test } from 'vitest';
import { ClusterWorld } from '../../test/cluster-world.ts';
import { EventLog } from '../event-log.ts';
import { createLog } from '../log.ts';

test('an operator logs every certificate at any level, with its requester, and reports it in Events', async () => {
  const world = await ClusterWorld.open();
  const { kube } = world;
  const authority = await world.ask(
    'Authority',
    'default/mesh',
    {
      rotation: { reloadWithin: '0s' },
      consumers: [{ name: 'web', presents: true, verifies: true, leaf: 'web', reload: 'hot' }],
    },
    'helm',
  );
  const leaf = await world.ask(
    'Leaf',
    'default/web',
    { authority: 'mesh', dnsNames: ['web.default.svc'], usages: ['server'] },
    'argocd',
  );
  const live = world.operate('--log-level', 'error');
  const issued = (): readonly (IssuedEntry & { readonly event: string })[] =>
    live
      .said()
      .trim()
      .split('\n')
      .filter((line) => line.includes('"event":"issued"'))
      .map((line) => JSON.parse(line));
  const soon = (look: () => void | Promise<void>): Promise<void> => world.soon(look);
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
  const status = await world.runs('status', 'default/mesh', '--json');
  const { history } = JSON.parse(status.stdout).authorities[0];
  expect(history[1]).toMatchObject({
    step: 'mint',
    rotation: 'q1',
    askedBy: { via: 'annotation', manager: 'kubectl-annotate' },
  });
  expect(history[2]).toMatchObject({
    step: 'activate',
    evidence: [{ consumer: 'web', by: 'unused', at: null }],
  });
});

test('the log has one line with one time for one certificate, at every level', () => {
  let text = '';
  const log = createLog({ level: 'error', now: () => Date.UTC(2030, 0, 1), write: (line) => (text += line) });
  const entry = { at: 'then', kind: 'ca', authority: 'a/b', generation: 1 } as unknown as IssuedEntry;
  new EventLog(log, () => instant(0)).on({ kind: 'issued', entry });
  expect(text).toBe(
    '{"level":"info","at":"2030-01-01T00:00:00.000Z","event":"issued","kind":"ca","authority":"a/b","generation":1}\n',
  );
});
