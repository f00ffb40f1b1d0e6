import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { configMaps, kindOf, secrets } from '@handover/kube';
import { makeCa } from '@handover/test-cluster';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundlesOf, INJECTABLES, type Injectable } from './injectables.ts';
import { beyondRights, resource, type Stage, setStage, until } from './stage.ts';

// cert-manager's own end-to-end cases for cainjector, on the same four kinds, and our own promises beyond them.

let stage: Stage;
let serial = 0;
beforeAll(async () => {
  stage = await setStage();
  stage.start('one', { injection: { compat: ['cainjector'], cainjectorNamespace: 'default' } });
}, 120_000);
afterAll(() => stage.stop());

const newCa = (): string => {
  serial++;
  return makeCa(join(stage.cluster.directory, 'foreign'), `ca-${serial}`, `foreign ${serial}`).pem;
};
const freshName = (): string => `case${++serial}`;

/** A Secret as cert-manager's controller leaves it. */
const certificateSecret = async (name: string, ca: string | undefined, annotations = {}): Promise<void> => {
  await stage.cluster.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: 'default',
      annotations: { 'cert-manager.io/certificate-name': `cert-${name}`, ...annotations },
    },
    data: ca === undefined ? {} : { 'ca.crt': Buffer.from(ca).toString('base64') },
  });
};

const plainSecret = async (name: string, ca: string | undefined, allowed: boolean): Promise<void> => {
  await stage.cluster.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: 'default',
      ...(allowed ? { annotations: { 'cert-manager.io/allow-direct-injection': 'true' } } : {}),
    },
    data: ca === undefined ? { other: 'eA==' } : { 'ca.crt': Buffer.from(ca).toString('base64') },
  });
};

const fromCertificate = (name: string) => ({ 'cert-manager.io/inject-ca-from': `default/cert-${name}` });
const fromSecret = (name: string) => ({ 'cert-manager.io/inject-ca-from-secret': `default/${name}` });

interface EventSeen {
  readonly regarding: { readonly kind: string; readonly name: string };
  readonly note: string;
}
const events = kindOf('events.k8s.io/v1', 'events', 'Event');
/** Waits until an Event about the object says this. */
const said = ({ kind, named }: Injectable, name: string, text: string): Promise<unknown> =>
  until(async () => {
    const { items } = await stage.kube.list(events, { namespace: 'default' });
    return (items as unknown as readonly EventSeen[]).some(
      ({ regarding, note }) =>
        regarding.kind === kind.kind && regarding.name === named(name) && note.includes(text),
    );
  }, `an Event about ${name}: ${text}`);

describe.each(Object.entries(INJECTABLES))('%s', (_, injectable) => {
  const { make, named } = injectable;
  const holds = (name: string, text: string): Promise<unknown> =>
    until(
      async () => {
        const bundles = await bundlesOf(stage, injectable, name);
        return bundles.length > 0 && bundles.every((bundle) => bundle === text);
      },
      `${named(name)} with its bundle`,
    );
  const empty = async (name: string): Promise<void> =>
    expect((await bundlesOf(stage, injectable, name)).every((bundle) => bundle === '')).toBe(true);
  const annotate = (name: string, ...what: string[]): Promise<string> =>
    stage.cluster.kubectl('annotate', '--overwrite', injectable.kind.plural, named(name), ...what);

  test('every field gets the CA of the Certificate, in whichever order the two are created', async () => {
    const [early, late, ca] = [freshName(), freshName(), newCa()];
    await stage.cluster.apply(make(early, fromCertificate(early)));
    await certificateSecret(early, ca);
    await holds(early, ca);
    await certificateSecret(late, ca);
    await stage.cluster.apply(make(late, fromCertificate(late)));
    await holds(late, ca);
  });

  test('an object without annotation is left alone', async () => {
    const [plain, other, ca] = [freshName(), freshName(), newCa()];
    await certificateSecret(other, ca);
    await stage.cluster.apply(make(plain), make(other, fromCertificate(other)));
    await holds(other, ca);
    await empty(plain);
  });

  test('an annotation that is added later counts, and a removed one leaves the bundle as it is', async () => {
    const [name, ca] = [freshName(), newCa()];
    await certificateSecret(name, ca);
    await stage.cluster.apply(make(name));
    await annotate(name, `cert-manager.io/inject-ca-from=default/cert-${name}`);
    await holds(name, ca);
    await annotate(name, 'cert-manager.io/inject-ca-from-');
    const other = freshName();
    await certificateSecret(other, ca);
    await stage.cluster.apply(make(other, fromCertificate(other)));
    await holds(other, ca);
    await holds(name, ca);
  });

  test('a changed CA is injected, and the previous CA stays trusted beside it', async () => {
    const [name, first, second] = [freshName(), newCa(), newCa()];
    await certificateSecret(name, first);
    await stage.cluster.apply(make(name, fromCertificate(name)));
    await holds(name, first);
    await certificateSecret(name, second);
    await until(async () => {
      const bundles = await bundlesOf(stage, injectable, name);
      return bundles.every((bundle) => bundle.includes(second) && bundle.includes(first));
    }, 'both');
    const [bundle = ''] = await bundlesOf(stage, injectable, name);
    expect(bundle.length).toBe(first.length + second.length);
  });

  test('an overwritten bundle is restored, including the earlier CA', async () => {
    const [name, first, second] = [freshName(), newCa(), newCa()];
    await certificateSecret(name, first);
    await stage.cluster.apply(make(name, fromCertificate(name)));
    await holds(name, first);
    await certificateSecret(name, second);
    await until(
      async () => (await bundlesOf(stage, injectable, name)).every((one) => one.includes(second)),
      'the second',
    );
    const [right = ''] = await bundlesOf(stage, injectable, name);
    const stranger = newCa();
    await stage.cluster.kubectl(
      'apply',
      '--server-side',
      '--force-conflicts',
      '--field-manager=stranger',
      '-f',
      stage.file(make(name, fromCertificate(name), Buffer.from(stranger).toString('base64'))),
    );
    await holds(name, right);
    expect(right).not.toContain(stranger);
  });

  test('an annotation without a slash is ignored, with an Event', async () => {
    const name = freshName();
    await stage.cluster.apply(make(name, { 'cert-manager.io/inject-ca-from': 'serving-certs' }));
    await said(injectable, name, '"serving-certs" is ignored; write namespace/name');
    await empty(name);
  });

  test('the CA of the API server', async () => {
    const name = freshName();
    await stage.cluster.apply(make(name, { 'cert-manager.io/inject-apiserver-ca': 'true' }));
    await holds(name, readFileSync(stage.cluster.caFile, 'utf8'));
  });

  test('a Secret that allows it is a source by its own name', async () => {
    const [name, ca] = [freshName(), newCa()];
    await plainSecret(name, ca, true);
    await stage.cluster.apply(make(name, fromSecret(name)));
    await holds(name, ca);
  });

  test('a Secret that does not allow it is refused, until it does', async () => {
    const [name, ca] = [freshName(), newCa()];
    await plainSecret(name, ca, false);
    await stage.cluster.apply(make(name, fromSecret(name)));
    await said(injectable, name, 'allow-direct-injection');
    await empty(name);
    await stage.cluster.kubectl('annotate', 'secret', name, 'cert-manager.io/allow-direct-injection=true');
    await holds(name, ca);
  });

  test('a Secret takes precedence over a Certificate, and a Certificate over the API server', async () => {
    const [name, ofSecret, ofCertificate] = [freshName(), newCa(), newCa()];
    await plainSecret(name, ofSecret, true);
    await certificateSecret(`${name}-tls`, ofCertificate);
    await stage.cluster.apply(
      make(name, {
        ...fromSecret(name),
        ...fromCertificate(`${name}-tls`),
        'cert-manager.io/inject-apiserver-ca': 'true',
      }),
    );
    await holds(name, ofSecret);
    const second = freshName();
    await stage.cluster.apply(
      make(second, { ...fromCertificate(`${name}-tls`), 'cert-manager.io/inject-apiserver-ca': 'true' }),
    );
    await holds(second, ofCertificate);
  });

  test('a Secret without a valid CA empties no field', async () => {
    const [name, ca] = [freshName(), newCa()];
    await plainSecret(name, ca, true);
    await stage.cluster.apply(make(name, fromSecret(name)));
    await holds(name, ca);
    await stage.cluster.kubectl('patch', 'secret', name, '--type=merge', '-p', '{"data":{"ca.crt":"eA=="}}');
    await said(injectable, name, 'is not a bundle');
    await stage.cluster.kubectl('patch', 'secret', name, '--type=merge', '-p', '{"data":{"ca.crt":null}}');
    await said(injectable, name, 'it has no CA in ca.crt');
    await holds(name, ca);
  });

  test('with a Leaf in place of the Certificate its authority is the source', async () => {
    const name = freshName();
    await stage.cluster.apply(
      resource('Authority', name),
      resource('Leaf', `cert-${name}`, {
        authority: name,
        secretName: name,
        dnsNames: [`${name}.default.svc`],
      }),
      make(name, fromCertificate(name)),
    );
    const trust = await until(
      () => stage.kube.get(configMaps, { namespace: 'default', name: `${name}-trust` }),
      'the bundle',
    );
    await holds(name, trust.data?.['ca.crt'] ?? '');
  });

  test('a field of a cainjector is left alone until its owner consents; then its old content stays trusted', async () => {
    const [name, theirs, ca] = [freshName(), newCa(), newCa()];
    await certificateSecret(name, ca);
    await stage.cluster.kubectl(
      'apply',
      '--server-side',
      '--field-manager=cert-manager-cainjector',
      '-f',
      stage.file(make(name, fromCertificate(name), Buffer.from(theirs).toString('base64'))),
    );
    await said(injectable, name, "kept by cert-manager's cainjector");
    await holds(name, theirs);
    await annotate(name, 'handover.dev/take-over=true');
    await until(
      async () => (await bundlesOf(stage, injectable, name)).every((one) => one.includes(ca)),
      'the takeover',
    );
    const [bundle = ''] = await bundlesOf(stage, injectable, name);
    expect(bundle).toContain(theirs);
  });
});

test('while a cainjector runs its fields are left to it; they are taken over once it is gone, or on request', async () => {
  const injectable = INJECTABLES.APIService as Injectable;
  const [mine, theirs, ca] = [freshName(), freshName(), newCa()];
  await stage.cluster.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'cert-manager-cainjector',
      namespace: 'default',
      labels: { 'app.kubernetes.io/name': 'cainjector' },
    },
    spec: {
      selector: { matchLabels: { app: 'cainjector' } },
      template: {
        metadata: { labels: { app: 'cainjector' } },
        spec: { containers: [{ name: 'cainjector', image: 'cainjector' }] },
      },
    },
  });
  const ready = (count: number): Promise<string> =>
    stage.cluster.kubectl(
      'patch',
      'deployment',
      'cert-manager-cainjector',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status: { replicas: count, readyReplicas: count } }),
    );
  await ready(1);
  await certificateSecret(mine, ca);
  await certificateSecret(theirs, ca);
  await stage.cluster.apply(
    injectable.make(theirs, fromCertificate(theirs)),
    injectable.make(mine, { ...fromCertificate(mine), 'handover.dev/take-over': 'true' }),
  );
  await said(injectable, theirs, 'Deployment default/cert-manager-cainjector is running');
  await until(async () => (await bundlesOf(stage, injectable, mine))[0] === ca, 'the one to take over');
  expect(await bundlesOf(stage, injectable, theirs)).toEqual(['']);
  await ready(0);
  await until(async () => (await bundlesOf(stage, injectable, theirs))[0] === ca, 'the other');
});

test('from Secrets that are not ours the operator reads only the CA of a source', async () => {
  const names = new Set(
    stage.requests
      .filter(({ resource: what, verb }) => what === 'secrets' && verb === 'get')
      .map(({ name }) => name),
  );
  const { items } = await stage.kube.list(secrets, { namespace: 'default' });
  const foreign = items.filter(({ metadata }) => metadata.labels?.['handover.dev/managed'] !== 'true');
  expect(foreign.filter(({ metadata }) => names.has(metadata.name ?? ''))).toEqual([]);
});

test('the installed roles allow everything it did', () => {
  expect([...new Set(beyondRights(stage, ['cainjector']))]).toEqual([]);
});
