import { HandoverError } from '@handover/material';
import {
  COMPAT,
  type Compat,
  DEFAULT_NAMESPACE,
  type InstallOptions,
  installation,
  installationYaml,
} from '@handover/operator/install';
import type { Define } from '../context.ts';
import { version } from '../version.ts';

interface Flags {
  readonly namespace: string;
  readonly image?: string;
  readonly namespaced?: readonly string[];
  readonly compat?: readonly Compat[];
  readonly signers?: readonly string[];
  readonly openshift?: true;
  readonly json?: true;
}

const listed = (text: string): readonly string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

const compatIn = (text: string): readonly Compat[] =>
  listed(text).map((word) => {
    const known = COMPAT.find((name) => name === word);
    if (known !== undefined) return known;
    throw new HandoverError(
      'INSTALL_OPTION',
      `${JSON.stringify(word.slice(0, 80))} is nothing to be compatible with; use ${COMPAT.join(', ')}`,
    );
  });

export const define: Define = (command, context) => {
  command
    .option('--namespace <ns>', 'where the operator runs and keeps its state', DEFAULT_NAMESPACE)
    .option('--image <image>', 'image of the operator (default: handover:VERSION)')
    .option('--namespaced <ns,…>', 'look at these namespaces only, without any right in the cluster', listed)
    .option('--compat <names>', `honour the annotations of ${COMPAT.join(', ')}`, compatIn)
    .option('--signers <names>', 'signers whose ClusterTrustBundles it may write', listed)
    .option('--openshift', 'let TLSProfiles follow OpenShift’s APIServer/cluster')
    .option('--json', 'print one JSON document, a List')
    .addHelpText(
      'after',
      `
Prints custom resource definitions, roles, admission policies and the Deployment. Needs Kubernetes 1.30 or later. Nothing is
sent anywhere: read it, then apply it. The same options always print the same bytes.

Example:
  $ handover install --image registry.example/handover:1.0 | kubectl apply -f -
  $ handover install --namespaced shop,pay | kubectl diff -f -`,
    )
    .action(({ image, json, ...flags }: Flags) => {
      const options: InstallOptions = { ...flags, image: image ?? `handover:${version()}` };
      context.stdout.write(
        json === true
          ? `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: installation(options) })}\n`
          : installationYaml(options),
      );
    });
};
