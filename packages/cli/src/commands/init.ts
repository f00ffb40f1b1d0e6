import { DirectoryHome, diskFiles } from '@handover/engine';
import type { Define } from '../context.ts';
import { CliError } from '../error.ts';

/** What `handover init` writes. */
export const STARTING_POINT = `# An internal CA for this machine. To issue and rotate its certificates: handover run DIR
# Certificates are written to DIR/out; CA keys stay in DIR/state.
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata:
  name: internal              # commands call it default/internal
spec:
  key: ECDSA-P256             # or ECDSA-P384, RSA-2048, RSA-3072, RSA-4096
  lifetime: 5y
  rotation:
    at: 80%                   # rotate after this share of the lifetime, or with: handover rotate default/internal
    # Your programs load changed files within this time. The old CA stays trusted at least that long.
    reloadWithin: 3m
  # Programs that show what they have loaded: then a rotation need not wait that long.
  # consumers:
  #   - {name: web, presents: true, probe: {address: "127.0.0.1:8443"}}
---
# One certificate: DIR/out/default/secrets/web/{tls.crt,tls.key,ca.crt}
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata:
  name: web
spec:
  authority: internal
  dnsNames: [localhost]
  ipAddresses: [127.0.0.1]
  usages: [server, client]
  lifetime: 90d
  # How to tell the program that its files changed, if it does not watch them:
  # reload: {command: [nginx, -s, reload]}
  # Owner and mode of the files (to change the owner, run as root):
  # files: {owner: postgres, group: postgres, mode: "0600"}
`;

const NAME = 'handover.yaml';

export const define: Define = (command, context) => {
  command
    .argument('<dir>', 'directory to create, or one without resources')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Writes DIR/${NAME} with one Authority and one Leaf, every field explained. Changes no existing file.

Example:
  $ handover init ~/certificates && handover run ~/certificates --once`,
    )
    .action(async (dir: string, flags: { json?: true }) => {
      const [yaml] = diskFiles.list(dir).filter((name) => /\.ya?ml$/.test(name));
      if (yaml !== undefined) {
        throw new CliError(
          'HOME_NOT_EMPTY',
          `${dir} already has ${yaml}; edit it, or choose another directory`,
          { path: dir },
        );
      }
      await new DirectoryHome(dir, { timers: context.clock }).make();
      const path = `${dir}/${NAME}`;
      await diskFiles.create(path, STARTING_POINT, { mode: 0o644 });
      context.stdout.write(
        flags.json === true
          ? `${JSON.stringify({ path })}\n`
          : `wrote ${path}\nedit it, then: handover run ${dir}\n`,
      );
    });
};
