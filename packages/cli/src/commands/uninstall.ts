import { removable, removableYaml } from '@handover/install';
import type { Define } from '../context.ts';
import { type InstallFlags, installFlags, optionsIn } from './install-flags.ts';

export const define: Define = (command, context) => {
  installFlags(command)
    .addHelpText(
      'after',
      `
Prints the objects of \`handover install\` with the same options, to be deleted: the Deployment first, then its rights. It leaves
out the namespace, which holds every CA key, and the custom resource definitions, since every Authority and every Leaf would be
deleted with them. Secrets, ConfigMaps and injected bundles have no owner references and stay, so that everything keeps running;
a new installation continues where this one ended.

Example:
  $ handover uninstall | kubectl delete --ignore-not-found -f -`,
    )
    .action((flags: InstallFlags) => {
      const options = optionsIn(flags);
      context.stdout.write(
        flags.json === true
          ? `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: removable(options) })}\n`
          : removableYaml(options),
      );
    });
};
