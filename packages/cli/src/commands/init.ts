import { DirectoryHome, diskFiles } from '@handover/engine';
import type { Define } from '../context.ts';
import { STARTING_POINT } from '../directory/starting-point.ts';
import { CliError } from '../error.ts';

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
