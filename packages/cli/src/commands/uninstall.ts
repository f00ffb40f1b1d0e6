import { removable, removableYaml } from '@handover/install';
import type { Define } from '../context.ts';
import { type InstallFlags, installFlags, optionsIn } from './install-flags.ts';

export const define: Define = (command, context) => {
  installFlags(command)
    .addHelpText(
      'after',
      `
Prints what \`handover install\` with the same options has put there, to be deleted: the Deployment first, its rights after it. Not
among it are the namespace, which holds the keys of every CA, and the custom resource definitions, with which every Authority and
every Leaf would go. Secrets, ConfigMaps and injected bundles are nobody’s children and stay as they are, so that everything goes on
running; a new installation goes on where this one ended.

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
