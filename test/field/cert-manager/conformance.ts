import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NodeCluster } from '@handover/test-cluster';
import { buildGo } from '../clients/build.ts';
import type { IssuerRef } from './objects.ts';

const PROGRAM = fileURLToPath(new URL('conformance', import.meta.url));

/** Names of cert-manager's own feature set (test/e2e/framework/helper/featureset). */
export type Feature =
  | 'IPAddresses'
  | 'Duration'
  | 'Wildcards'
  | 'ECDSA'
  | 'ReusePrivateKey'
  | 'URISANs'
  | 'EmailSANs'
  | 'CommonName'
  | 'KeyUsages'
  | 'OnlySAN'
  | 'SaveCAToSecret'
  | 'SaveRootCAToSecret'
  | 'Ed25519'
  | 'IssueCA'
  | 'LongDomain'
  | 'LiteralCertificateSubject';

/** Cases that the cert-manager here does not pass with any issuer: since 1.18 it makes a new key for each certificate by default. */
export const OUTDATED: readonly string[] = [
  'should issue another certificate with the same private key if the existing certificate and CertificateRequest are deleted',
];

export interface Conformance {
  readonly ref: IssuerRef;
  /** What makes the issuer, without a namespace: created in the namespace of each case, in this order. */
  readonly objects: readonly object[];
  /** Cases of these features are left out. */
  readonly unsupported?: readonly Feature[];
  /** Only cases whose names match. */
  readonly focus?: string;
}

export interface Case {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** One line of what the suite says. */
  readonly why: string;
  readonly seconds: number;
}

interface Report {
  readonly SpecReports: readonly {
    readonly LeafNodeType: string;
    readonly LeafNodeText: string;
    readonly State: string;
    readonly RunTime: number;
    readonly Failure?: { readonly Message?: string };
  }[];
}

/** Around an error that Go returned the suite prints everything that it knows: the error itself stands last. */
const whyOf = (message: string): string => {
  const lines = message.split('\n').map((line) => line.trim());
  const said = lines.filter((line) => line !== '' && line !== 'occurred');
  return (lines[0] === 'Unexpected error:' ? said.at(-1) : said[0]) ?? '';
};

const stateOf = (told: string): Case['state'] =>
  told === 'passed' || told === 'skipped' ? told : told === 'pending' ? 'skipped' : 'failed';

/**
 * Runs cert-manager's conformance suite for issuers, in a cluster with the cert-manager of `startCertManager`, and returns every case.
 *
 * ```ts
 * await runConformance(cluster, {
 *   ref: { group: 'handover.dev', kind: 'Authority', name: 'tested' },
 *   objects: [{ apiVersion: 'handover.dev/v1alpha1', kind: 'Authority', metadata: { name: 'tested' }, spec: {} }],
 * });
 * ```
 */
export async function runConformance(
  cluster: NodeCluster,
  { ref, objects, unsupported = [], focus = '' }: Conformance,
): Promise<readonly Case[]> {
  const folder = await buildGo(PROGRAM, 'cert-manager-conformance');
  const report = join(cluster.directory, `conformance-${ref.kind}.json`);
  const setting = JSON.stringify({ kubeconfig: cluster.kubeconfig, ref, objects, unsupported });
  const flags = [`--ginkgo.json-report=${report}`, '--ginkgo.timeout=30m', '--ginkgo.no-color'];
  const told = await new Promise<string>((resolve) => {
    execFile(
      join(folder, 'conformance'),
      [...flags, ...(focus === '' ? [] : [`--ginkgo.focus=${focus}`])],
      { env: { ...process.env, CONFORMANCE: setting }, maxBuffer: 256 * 1024 * 1024 },
      // A case that failed ends it with 1: the report says which.
      (_, stdout, stderr) => resolve(`${stdout}${stderr}`),
    );
  });
  let reports: readonly Report[];
  try {
    reports = JSON.parse(readFileSync(report, 'utf8')) as readonly Report[];
  } catch {
    throw new Error(`the conformance suite left no report: ${told.slice(-2_000)}`);
  }
  return reports
    .flatMap(({ SpecReports }) => SpecReports)
    .filter(({ LeafNodeType }) => LeafNodeType === 'It')
    .filter(({ State, Failure }) => focus === '' || State !== 'skipped' || Failure?.Message !== undefined)
    .map(({ LeafNodeText, State, RunTime, Failure }) => ({
      name: LeafNodeText,
      state: stateOf(State),
      why: whyOf(Failure?.Message?.trim() ?? ''),
      seconds: RunTime / 1e9,
    }));
}

/** A row of README.md for each case. */
export const rows = (cases: readonly Case[]): readonly string[] =>
  cases.map(({ name, state, why }) => `| ${name} | ${state}${why === '' ? '' : `: ${why}`} |`);
