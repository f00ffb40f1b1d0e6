// What the tests of certgen share: an API server, Envoy Gateway's objects on it, and `handover certgen` as a process.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateKey, issueCa, issueLeaf, localSigner } from '@handover/core';
import { parseAuthority } from '@handover/engine';
import {
  deployments,
  type Kube,
  mutatingWebhookConfigurations,
  pods,
  type Secret,
  secrets,
} from '@handover/kube';
import {
  after,
  type Certificate,
  day,
  encodePem,
  hour,
  instant,
  parseCertificate,
  parseCertificates,
  verifyChain,
} from '@handover/material';
import { PROGRAM, temporaryFolder } from '@handover/test-api-server';
import { parseAllDocuments } from 'yaml';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
export const recipe = readFileSync(path('../../../../docs/recipes/envoy-gateway.md'), 'utf8');
const BLOCKS = [...recipe.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text ?? '');

/** Objects of the recipe's YAML block that holds `kind`, in another namespace if given. */
export const recipeObjects = (kind: string, namespace = 'envoy-gateway-system'): readonly object[] => {
  const block = BLOCKS.find((text) => text.includes(`kind: ${kind}\n`)) ?? '';
  return parseAllDocuments(block.replaceAll('envoy-gateway-system', namespace)).map(
    (document) => document.toJS() as object,
  );
};

export const buildCli = (): void => {
  const tsc = path('../../../../node_modules/typescript/bin/tsc');
  const built = spawnSync(process.execPath, [tsc, '-b', path('../../../cli')], { encoding: 'utf8' });
  if (built.status !== 0) throw new Error(built.stdout);
};

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `handover …` as a process, and how it ends. */
export const start = (args: readonly string[]): { readonly child: ChildProcess; ended: Promise<Ended> } => {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const ended = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    stdout,
    // The issuance log is there too, one JSON document per line.
    stderr: stderr.replace(/^\{.*"event":"issued".*\}\n/gm, ''),
  }));
  return { child, ended };
};

export const LEAVES = ['envoy-gateway', 'envoy', 'envoy-rate-limit'] as const;
export const CA = 'envoy-gateway-ca';
export const webhookName = (namespace: string): string => `envoy-gateway-topology-injector.${namespace}`;

/** The preset's resources as a file, with a `reloadWithin` shorter than the preset's 3 min. */
export const resourcesFile = (
  namespace: string,
  {
    reloadWithin = '3s',
    strategy = 'Instant',
  }: { reloadWithin?: string; strategy?: 'Instant' | 'Phased' } = {},
): string => {
  const leaf = (name: string, reload: string) => ({
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Leaf',
    metadata: {
      name,
      namespace,
      labels: { 'control-plane': 'envoy-gateway' },
      annotations: {
        'handover.dev/reload': reload,
        ...(reload === 'restart' ? { 'handover.dev/used-by': 'nobody' } : {}),
      },
    },
    spec: {
      authority: CA,
      secretName: name,
      dnsNames: [`${name}.${namespace}.svc`],
      usages: ['server', 'client'],
    },
  });
  const all = [
    {
      apiVersion: 'handover.dev/v1alpha1',
      kind: 'Authority',
      metadata: { name: CA, namespace },
      spec: { rotation: { strategy, reloadWithin }, adopt: { secret: 'envoy-gateway' } },
    },
    leaf('envoy-gateway', 'hot'),
    leaf('envoy', 'hot'),
    leaf('envoy-rate-limit', 'restart'),
    {
      apiVersion: 'handover.dev/v1alpha1',
      kind: 'TrustBundle',
      metadata: { name: `${CA}.${namespace}` },
      spec: {
        sources: [{ authority: `${namespace}/${CA}` }],
        targets: [{ inject: { kind: 'MutatingWebhookConfiguration', name: webhookName(namespace) } }],
      },
    },
  ];
  const file = join(temporaryFolder(), 'gateway.yaml');
  writeFileSync(file, all.map((one) => JSON.stringify(one)).join('\n---\n'));
  return file;
};

export const webhook = (namespace: string): object => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: webhookName(namespace) },
  webhooks: [
    {
      name: 'topology.webhook.gateway.envoyproxy.io',
      clientConfig: {
        service: { name: 'envoy-gateway', namespace, path: '/inject-pod-topology', port: 9443 },
      },
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Ignore',
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/binding'] }],
    },
  ],
});

/** A Deployment whose pods mount one of the Secrets. */
export const reader = (
  namespace: string,
  name: string,
  secretName: string,
  annotations: Readonly<Record<string, string>> = {},
): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name }, annotations: { 'example.com/keep': 'me', ...annotations } },
      spec: {
        containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'certs', mountPath: '/certs' }] }],
        volumes: [{ name: 'certs', secret: { secretName } }],
      },
    },
  },
});

/** Plays the kubelet of a cluster without nodes: every pod runs. */
export const runPods = async (kube: Kube): Promise<void> => {
  const { items } = await kube.list(pods);
  for (const { metadata, status } of items) {
    if ((status as { phase?: string } | undefined)?.phase === 'Running') continue;
    const conditions = ['Ready', 'ContainersReady', 'PodScheduled', 'Initialized'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: new Date().toISOString(),
    }));
    await kube.patch(
      pods,
      { namespace: metadata.namespace, name: metadata.name ?? '', subresource: 'status' },
      {
        merge: {
          status: { phase: 'Running', conditions, podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] },
        },
      },
    );
  }
};

/** The objects in a namespace, read with every right. */
export class Seen {
  readonly #kube: Kube;
  readonly namespace: string;

  constructor(kube: Kube, namespace: string) {
    this.#kube = kube;
    this.namespace = namespace;
  }

  async secret(name: string): Promise<Secret> {
    const found = await this.#kube.get(secrets, { namespace: this.namespace, name });
    if (found === undefined) throw new Error(`no Secret ${this.namespace}/${name}`);
    return found;
  }

  async text(name: string, key: string): Promise<string> {
    return Buffer.from((await this.secret(name)).data?.[key] ?? '', 'base64').toString('utf8');
  }

  async certificates(name: string, key: string): Promise<readonly Certificate[]> {
    return parseCertificates(await this.text(name, key)).certificates;
  }

  /** CA generations in a Secret's bundle, in order. */
  async generations(name: string): Promise<readonly string[]> {
    return (await this.certificates(name, 'ca.crt')).map(
      ({ subject }) => / (\d+) [0-9a-f]{8}$/.exec(subject)?.[1] ?? subject,
    );
  }

  /** Versions of everything that certgen writes. */
  async versions(): Promise<Readonly<Record<string, string | undefined>>> {
    const { items } = await this.#kube.list(secrets, { namespace: this.namespace });
    const hook = await this.#kube.get(mutatingWebhookConfigurations, { name: webhookName(this.namespace) });
    return Object.fromEntries([
      ...items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]),
      ['webhook', hook?.metadata.resourceVersion],
    ]);
  }

  async state(): Promise<ReturnType<typeof parseAuthority>['state']> {
    const { items } = await this.#kube.list(secrets, {
      namespace: this.namespace,
      labelSelector: 'handover.dev/authority-state=true',
    });
    const [found, ...others] = items;
    if (found === undefined || others.length > 0) throw new Error(`${items.length} states`);
    const text = Buffer.from(found.data?.['authority.json'] ?? '', 'base64').toString('utf8');
    return parseAuthority(`${this.namespace}/${CA}`, text, 'state').state;
  }

  /** The bundle that the API server uses for the webhook, as it stands there. */
  async caBundle(): Promise<string> {
    const hook = (await this.#kube.get(mutatingWebhookConfigurations, {
      name: webhookName(this.namespace),
    })) as { webhooks?: readonly { clientConfig: { caBundle?: string } }[] } | undefined;
    return Buffer.from(hook?.webhooks?.[0]?.clientConfig.caBundle ?? '', 'base64').toString('utf8');
  }

  async template(
    name: string,
  ): Promise<{ generation: number; annotations: Readonly<Record<string, string>> }> {
    const found = await this.#kube.get(deployments, { namespace: this.namespace, name });
    const spec = found?.spec as
      | { template: { metadata: { annotations?: Readonly<Record<string, string>> } } }
      | undefined;
    return {
      generation: found?.metadata.generation ?? 0,
      annotations: spec?.template.metadata.annotations ?? {},
    };
  }

  /** Whether a reader of `verifier` accepts the chain of `presenter`. */
  async accepts(verifier: string, presenter: string): Promise<boolean> {
    return accepts(
      await this.certificates(verifier, 'ca.crt'),
      await this.certificates(presenter, 'tls.crt'),
    );
  }

  /** Every pair of the three Secrets accepts each other. */
  async allAccept(): Promise<boolean> {
    for (const one of LEAVES) for (const other of LEAVES) if (!(await this.accepts(one, other))) return false;
    return true;
  }
}

export const accepts = (anchors: readonly Certificate[], chain: readonly Certificate[]): boolean => {
  return verifyChain({ chain, anchors, at: instant(Date.now()), purpose: 'server' }).ok;
};

/** Secrets as upstream's certgen makes them: none holds the CA's key, which is lost after this call. `at`: when it ran; they live a year. */
export const upstreamSecrets = async (
  namespace: string,
  at = instant(Date.now()),
): Promise<readonly object[]> => {
  const signer = localSigner(generateKey('ECDSA-P256').privateKey);
  const dates = {
    notBefore: after(at, -hour),
    notAfter: after(at, 365 * day),
  };
  const ca = await issueCa({
    name: 'envoy-gateway',
    generation: 1,
    signer,
    serial: randomBytes(16),
    ...dates,
  });
  const secrets = LEAVES.map(async (name) => {
    const own = generateKey('ECDSA-P256');
    const leaf = await issueLeaf({
      issuer: parseCertificate(ca),
      signer,
      publicKey: own.publicKey,
      serial: randomBytes(16),
      subject: { commonName: name },
      usages: ['server', 'client'],
      dnsNames: name === 'envoy-gateway' ? [`${name}.${namespace}.svc`] : [`*.${namespace}`],
      ipAddresses: [],
      uris: [],
      ...dates,
    });
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { name, namespace, labels: { 'control-plane': 'envoy-gateway' } },
      stringData: {
        'tls.crt': encodePem('CERTIFICATE', leaf),
        'tls.key': own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        'ca.crt': encodePem('CERTIFICATE', ca),
      },
    };
  });
  return Promise.all(secrets);
};
