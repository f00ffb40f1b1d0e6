// docs/recipes/own-webhook.md, block by block.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type KubeObject, secrets, validatingWebhookConfigurations } from '@handover/kube';
import { embed } from '@handover/operator';
import { PROGRAM } from '@handover/test-api-server';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { connectTo, until } from './stage.ts';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const recipe = readFileSync(path('../../../../docs/recipes/own-webhook.md'), 'utf8');
const [webhookYaml = '', rbacYaml = ''] = [...recipe.matchAll(/```yaml\n([\s\S]*?)```/g)].map(
  ([, text]) => text ?? '',
);
const NAME = 'my-webhook';

let cluster: Cluster;
let kubeconfig: string;
const end = new AbortController();
beforeAll(async () => {
  const tsc = path('../../../../node_modules/typescript/bin/tsc');
  expect(spawnSync(process.execPath, [tsc, '-b', path('../../../cli')]).status).toBe(0);
  cluster = await startCluster();
  await cluster.kubectl('create', 'namespace', NAME);
  // Acts as the ServiceAccount, without minting a token.
  kubeconfig = cluster.kubeconfigFor(`system:serviceaccount:${NAME}:${NAME}`, ['system:serviceaccounts']);
  await cluster.apply(...parseAllDocuments(rbacYaml).map((document) => document.toJS() as object), {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: NAME },
    webhooks: [
      {
        name: 'check.example.com',
        clientConfig: { service: { name: NAME, namespace: NAME } },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        rules: [
          { apiGroups: ['x.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['x'] },
        ],
      },
    ],
  });
});
afterAll(async () => {
  end.abort();
  await cluster.stop();
});

const bundle = async (): Promise<string> => {
  const kube = connectTo(cluster, end.signal);
  const found = (await kube.get(validatingWebhookConfigurations, { name: NAME })) as
    | (KubeObject & { webhooks: readonly { clientConfig: { caBundle?: string } }[] })
    | undefined;
  return found?.webhooks[0]?.clientConfig.caBundle ?? '';
};

test('the command, with the file and the rights of the recipe, fills the field', async () => {
  const file = join(cluster.directory, 'webhook.yaml');
  writeFileSync(file, webhookYaml);
  const [, command = ''] = /\nhandover (operator .*)\n/.exec(recipe) ?? [];
  expect(command).toBe('operator -f webhook.yaml --namespace my-webhook');
  const child = spawn(
    process.execPath,
    [PROGRAM, ...command.split(' '), '--kubeconfig', kubeconfig, '--health-address', '127.0.0.1:0'],
    { cwd: cluster.directory, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += String(chunk);
  });
  await until(async () => (await bundle()) !== '', 'the field');
  const kube = connectTo(cluster, end.signal);
  const [, state = ''] = /annotate secret -n my-webhook (\S+)/.exec(recipe) ?? [];
  expect(await kube.get(secrets, { namespace: NAME, name: state })).toBeDefined();
  const before = await bundle();
  await cluster.kubectl('annotate', 'secret', '-n', NAME, state, 'handover.dev/rotate=2030-01');
  await until(async () => (await bundle()).length > before.length * 1.5, 'the next CA beside the old one');
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(said).not.toContain('"failed"');
});

test('embed, with the same rights, is ready', async () => {
  const stop = new AbortController();
  const failures: unknown[] = [];
  const own = await embed(
    {
      authority: { name: NAME },
      leaf: { name: NAME, dnsNames: ['my-webhook.my-webhook.svc'] },
      inject: [{ kind: 'ValidatingWebhookConfiguration', name: NAME }],
    },
    {
      signal: stop.signal,
      kubeconfig: inNamespace(kubeconfig),
      on: (event) => {
        if (event.kind === 'failed') failures.push(event);
      },
    },
  );
  await own.ready;
  stop.abort();
  await own.ended;
  expect(failures).toEqual([]);
});

/** As in a pod: the namespace is that of the context. */
const inNamespace = (file: string): string => {
  const config = JSON.parse(JSON.stringify(parseAllDocuments(readFileSync(file, 'utf8'))[0]?.toJS())) as {
    contexts: { context: { namespace?: string } }[];
  };
  for (const { context } of config.contexts) context.namespace = NAME;
  writeFileSync(`${file}.own`, JSON.stringify(config));
  return `${file}.own`;
};
