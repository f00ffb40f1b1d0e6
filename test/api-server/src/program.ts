import { fileURLToPath } from 'node:url';

/**
 * The command that tests start: the one that HANDOVER_PROGRAM names, or that of the build. CI names the packed one: it is what users run, and starts
 * in less than half the time.
 */
export const PROGRAM =
  process.env.HANDOVER_PROGRAM ??
  fileURLToPath(new URL('../../../packages/cli/bin/handover.js', import.meta.url));
