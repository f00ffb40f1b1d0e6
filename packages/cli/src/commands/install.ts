import { installation, installationYaml } from '@handover/install';
import type { Define } from '../context.ts';
import { type InstallFlags, installFlags, optionsIn } from './install-flags.ts';

export const define: Define = (command, context) => {
  installFlags(command)
    .addHelpText(
      'after',
      `
Prints custom resource definitions, roles, admission policies and the Deployment as YAML, and sends nothing to the cluster:
read it, then apply it. Needs Kubernetes 1.30 or later. The same options always print the same bytes.

Example:
  $ handover install --image registry.example/handover:1.0 | kubectl apply -f -
  $ handover install --namespaced shop,pay | kubectl diff -f -`,
    )
    .action((flags: InstallFlags) => {
      const options = optionsIn(flags);
      context.stdout.write(
        flags.json === true
          ? `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: installation(options) })}\n`
          : installationYaml(options),
      );
    });
};
