import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HandoverError } from '@handover/material';
import type { Cluster } from '@handover/test-cluster';
import { parse } from 'yaml';

const run = promisify(execFile);

/** OpenShift's own kinds, from Go's module proxy; Go's module cache keeps them. */
const MODULE = 'github.com/openshift/api';
const VERSION = 'v0.0.0-20260813212709-d4bb0b443cb8';
const SUM = 'h1:SLdLnLLwLeQI5iJNOsRNYfb9mTme1G2FmmM2T7Nly44=';
const MANIFESTS = 'config/v1/zz_generated.crd-manifests';
const FILES = {
  apiservers: '0000_10_config-operator_01_apiservers-Default.crd.yaml',
  clusterversions: '0000_00_cluster-version-operator_01_clusterversions-Default.crd.yaml',
} as const;

interface Downloaded {
  readonly Dir?: string;
  readonly Sum?: string;
  readonly Error?: string;
}

const openShiftApi = async (): Promise<string> => {
  const { stdout } = await run('go', ['mod', 'download', '-json', `${MODULE}@${VERSION}`], {
    cwd: tmpdir(),
    env: { ...process.env, GOWORK: 'off', GOFLAGS: '-mod=mod' },
  }).catch((error: { readonly stdout?: string; readonly message: string }) => ({
    stdout: error.stdout?.startsWith('{') ? error.stdout : JSON.stringify({ Error: error.message }),
  }));
  const { Dir, Sum, Error: why = `its sum is ${Sum}, not ${SUM}` } = JSON.parse(stdout) as Downloaded;
  if (Dir !== undefined && Sum === SUM) return Dir;
  throw new HandoverError(
    'OPENSHIFT_API',
    `OpenShift's kinds (${MODULE}@${VERSION}) cannot be had: ${why}; install Go 1.26, and let it reach a module proxy once`,
  );
};

/** As far as tests change it. */
interface ProfileSchema {
  properties: { type: { enum: string[] } };
}
interface Crd {
  spec: {
    versions: {
      schema: {
        openAPIV3Schema: { properties: { spec: { properties: { tlsSecurityProfile?: ProfileSchema } } } };
      };
    }[];
  };
}

const crd = async (plural: keyof typeof FILES): Promise<Crd> =>
  parse(readFileSync(join(await openShiftApi(), MANIFESTS, FILES[plural]), 'utf8')) as Crd;

/** `later`: types of profiles that a later OpenShift could have: this one's API server refuses them. */
export const apiServerCrd = async (...later: readonly string[]): Promise<object> => {
  const found = await crd('apiservers');
  const { tlsSecurityProfile } =
    found.spec.versions[0]?.schema.openAPIV3Schema.properties.spec.properties ?? {};
  if (tlsSecurityProfile === undefined) throw new TypeError('this APIServer has no tlsSecurityProfile');
  tlsSecurityProfile.properties.type.enum.push(...later);
  return found;
};

export const apiServer = (spec: object): object => ({
  apiVersion: 'config.openshift.io/v1',
  kind: 'APIServer',
  metadata: { name: 'cluster' },
  spec,
});

export const clusterVersionCrd = (): Promise<object> => crd('clusterversions');

/** Makes the cluster's ClusterVersion, with the status that OpenShift's own operator would give it. */
export const setClusterVersion = async (cluster: Cluster, version: string): Promise<void> => {
  await cluster.apply({
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    metadata: { name: 'version' },
    spec: { clusterID: '1a2b3c4d-0000-4000-8000-000000000000' },
  });
  const desired = { version, image: `example.com/release:${version}` };
  const status = { desired, observedGeneration: 1, versionHash: 'x', availableUpdates: [] };
  await cluster.kubectl(
    ...['patch', 'clusterversion/version', '--subresource=status', '--type=merge'],
    ...['-p', JSON.stringify({ status })],
  );
};
